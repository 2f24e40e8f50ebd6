"""Strategies that hold by hand: what is held leaves when its time is over, and before what follows.

The source is played, and the clock but for the event loop's own timer: there is nothing more until
what was given has left. End to end: test_holds.py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.ways.by_hand import blocking, streams
from tinygram_bench.ways.runtimes import Way

HOLD_NS = 5_000_000
LONGEST_S = 60.0
BEGUN_NS = 1_000


class Wire:
    """A socket, or the writer of one: what was written, a write each."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []

    def setsockopt(self, *_option: int) -> None: ...

    def get_extra_info(self, _name: str) -> Wire:
        return self

    def is_closing(self) -> bool:
        return False

    def sendall(self, data: bytes) -> None:
        self.writes.append(data)

    write = sendall

    async def drain(self) -> None: ...


class Played:
    """Two messages come together, and the third when they have left."""

    def __init__(self, wire: Wire) -> None:
        self.now_ns = BEGUN_NS
        self._wire = wire
        self._bursts: list[Sequence[bytes]] = [(b"one", b"two"), (b"three",)]

    def next_burst(self, until_ns: int | None = None) -> Sequence[bytes] | None:
        if until_ns is not None and len(self._bursts) == 1:
            # Nothing comes before the time of what is held has passed.
            assert (self._wire.writes, until_ns) == ([], BEGUN_NS + HOLD_NS)
            self.now_ns = until_ns
            return ()
        if len(self._bursts) == 1:
            assert self._wire.writes == [b"onetwo"]
        return self._bursts.pop(0) if self._bursts else None


class PlayedOnLoop:
    """The same for an event loop; who waits without a time has a timer of its own."""

    def __init__(self, wire: Wire) -> None:
        self.played = Played(wire)
        self._wire = wire
        self._calls = 0

    async def next_burst(self, until_ns: int | None = None) -> Sequence[bytes] | None:
        self._calls += 1
        if until_ns is None and self._calls == 2:
            async with asyncio.timeout(LONGEST_S):
                while not self._wire.writes:
                    await asyncio.sleep(0.001)
        return self.played.next_burst(until_ns)


def way_of(name: str) -> Way:
    return Way("any", parse_strategy(f"{name}:5ms"), False)


def test_a_blocking_sender_waits_for_more_no_longer_than_it_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire, way = Wire(), way_of("coalesce")
    played = Played(wire)
    monkeypatch.setattr(blocking.coalesce, "monotonic_ns", lambda: played.now_ns)
    sock: Any = wire
    blocking.STRATEGIES["coalesce"](sock, played, way)
    # The last one leaves with the end of the stream.
    assert wire.writes == [b"onetwo", b"three"]
    assert list(way.holds_ns) == [HOLD_NS, 0]


def test_so_does_one_on_an_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    wire, way = Wire(), way_of("coalesce")
    bursts = PlayedOnLoop(wire)
    monkeypatch.setattr(streams.coalesce, "monotonic_ns", lambda: bursts.played.now_ns)
    writer: Any = wire
    asyncio.run(streams.STRATEGIES["coalesce"](writer, bursts, way))
    assert wire.writes == [b"onetwo", b"three"]
    assert list(way.holds_ns) == [HOLD_NS, 0]


def test_an_event_loops_timer_ends_the_hold_of_who_has_one() -> None:
    wire, way = Wire(), way_of("timer")
    bursts = PlayedOnLoop(wire)
    writer: Any = wire
    began_ns = time.monotonic_ns()
    asyncio.run(streams.STRATEGIES["timer"](writer, bursts, way))
    assert wire.writes == [b"onetwo", b"three"]
    # An event loop's clock may be early by its resolution.
    assert time.monotonic_ns() - began_ns >= HOLD_NS - 1_000_000
    assert len(way.holds_ns) == 2
