"""The command under test, and whether links may be made here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.links.emulating import Emulate
from tests.support.command import Command

from tinygram_bench.links import sandbox


@pytest.fixture
def links_permitted() -> None:
    """Skips where no link can be made."""
    permission = sandbox.probe()
    if not permission.is_given:
        pytest.skip(f"no link can be made here: {permission.why}")


@pytest.fixture
def emulate(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Emulate]:
    """`tinygram emulate` in an empty folder, where it is permitted; nothing of it may be left."""
    request.getfixturevalue("links_permitted")
    emulate = Emulate(tmp_path)
    yield emulate
    emulate.end()


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    """`tinygram stream` in an empty folder; whatever it started must be gone afterwards."""
    command = Command(tmp_path)
    yield command
    command.end()
