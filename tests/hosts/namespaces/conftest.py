"""Whether there may be two hosts here."""

from __future__ import annotations

import pytest
from tests.hosts.namespaces.apart import refusal


@pytest.fixture(scope="session")
def two_hosts_permitted() -> None:
    """Skips where there cannot be two hosts; before any fixture of a module makes them."""
    why = refusal()
    if why is not None:
        pytest.skip(why)
