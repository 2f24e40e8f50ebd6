"""Waiting for what must come: a condition is asked for again and again, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

GONE_S = 20.0
"""Far more than ending takes on a host that stops for a while; far less than it would live."""
LONGEST_S = 300.0
"""What any command here may take where others have most of the host: some take a minute alone."""


def wait_until(
    condition: Callable[[], bool],
    seconds: float,
    what: str | Callable[[], str],
    every_s: float = 0.01,
) -> None:
    """Ask every `every_s`; AssertionError when it did not come true within `seconds`."""
    give_up_s = time.monotonic() + seconds
    while not condition():
        said = what if isinstance(what, str) else what()
        assert time.monotonic() < give_up_s, f"not within {seconds} s: {said}"
        time.sleep(every_s)
