"""What waits on many connections of an event loop: a slow receiver is no fault, a dead one is."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tinygram_bench.ways.many.ends import MOST_WAITING_BYTES, Ends

PATIENCE_NS = 20_000_000


class Waiting(asyncio.WriteTransport):
    """A transport that holds so many bytes, of which each look finds `each` fewer."""

    def __init__(self, held_bytes: int, each: int = 0) -> None:
        super().__init__()
        self._held_bytes, self._each = held_bytes, each

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """What it holds is told by the tests."""

    def get_write_buffer_size(self) -> int:
        self._held_bytes -= self._each
        return self._held_bytes


def over(*transports: Waiting) -> Ends:
    ends = Ends("receiver", len(transports))
    for transport in transports:
        ends.add(transport)
    return ends


def run(act: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await act

    asyncio.run(limited())


def test_a_burst_that_is_more_than_may_wait_is_waited_for() -> None:
    async def act() -> None:
        ends = over(Waiting(MOST_WAITING_BYTES + 1))
        ends.on_full(0)
        asyncio.get_running_loop().call_later(0.01, ends.on_room, 0)
        await ends.handed_over(60 * 10**9)

    run(act())


def test_where_nobody_waits_so_much_is_an_error() -> None:
    async def act() -> None:
        ends = over(Waiting(MOST_WAITING_BYTES + 1))
        ends.on_full(0)
        with pytest.raises(OSError, match="receiver 0 does not keep up"):
            await ends.written()

    run(act())


def test_what_empties_slowly_has_as_long_as_it_takes() -> None:
    """Over a slow link the last bytes of many connections take longer than a stall may."""
    # Looks are half a millisecond apart at least: these take five times the patience.
    run(over(Waiting(200, each=1), Waiting(0)).emptied(PATIENCE_NS))


def test_what_does_not_empty_is_named_when_patience_is_over() -> None:
    async def act() -> None:
        with pytest.raises(OSError, match="receiver 1 does not keep up: 7 of the 7 bytes"):
            await over(Waiting(0), Waiting(7)).emptied(PATIENCE_NS)

    run(act())
