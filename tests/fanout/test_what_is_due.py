"""A publisher on an event loop publishes all that is due by then in one iteration."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tinygram_bench import _native
from tinygram_bench.runs.slices import Slices
from tinygram_bench.ways.many.ends import MOST_WAITING_BYTES, Ends
from tinygram_bench.workloads.fanout.job import Job, Times
from tinygram_bench.workloads.fanout.order import Begin
from tinygram_bench.workloads.fanout.publishing import event_loops

RATE_PER_S, SECONDS = 1_000, 0.1
PUBLICATIONS = 100
PATIENCE_NS = 10**9
LATE_NS = 5 * 10**9
"""All is due that long ago."""


class Written:
    """Connections that take everything; it counts iterations."""

    def __init__(self) -> None:
        self.iterations = 0

    async def written(self) -> None:
        self.iterations += 1
        await asyncio.sleep(0)

    async def handed_over(self, _patience_ns: int) -> None:
        await self.written()


def released(*, begins_ns: int, burst: int = 1, message_bytes: int = 100) -> list[list[int]]:
    """How the publications of a paced run are put together, by when they are due."""
    pace = (float(RATE_PER_S), "constant", burst, round(SECONDS * 1e9), 1)
    order = SimpleNamespace(
        native_pace=pace,
        burst=burst,
        subscribers=1_000,
        message_bytes=message_bytes,
        patience_ns=PATIENCE_NS,
    )
    slices = Slices((0,), round(SECONDS * 1e9), 0)
    begin = Begin(begins_ns, slices, 10**10)
    job = cast(Job, SimpleNamespace(order=order))
    ends = Written()

    async def collect() -> list[list[int]]:
        due = event_loops.due(job, begin, cast(Ends, ends), Times(begin, is_held=False))
        return [list(all_due_ns) async for all_due_ns in due]

    found = asyncio.run(collect())
    assert ends.iterations == len(found) + 1
    expected = _native.publications_due_ns(pace, slices.native)
    assert [due_ns - begins_ns for each in found for due_ns in each] == expected
    return found


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        ({}, [64, 36]),
        ({"burst": 100}, [100]),
        # What waits in the process is bounded: so many messages to all are half of it.
        ({"message_bytes": MOST_WAITING_BYTES // 1_000 // 25}, [25] * 4),
    ],
)
def test_who_is_late_publishes_what_is_due_together(
    asked: dict[str, Any], counts: list[int]
) -> None:
    found = released(begins_ns=time.monotonic_ns() - LATE_NS, **asked)
    assert [len(each) for each in found] == counts


def test_nothing_is_published_before_it_is_due() -> None:
    begins_ns = time.monotonic_ns() + 20_000_000
    released(begins_ns=begins_ns)
    assert time.monotonic_ns() >= begins_ns + SECONDS * 1e9 * (1 - 1 / PUBLICATIONS)


@pytest.mark.parametrize("is_held", [False, True])
def test_what_is_due_while_a_slice_settles_is_not_timed(
    is_held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_ns = [1_540]
    monkeypatch.setattr(time, "monotonic_ns", lambda: clock_ns[-1])
    times = Times(Begin(1_000, Slices((0, 500), 100, 10), 10**10), is_held=is_held)
    # In the first slice's middle, while the second one settles, and in its middle.
    times.begin([1_050, 1_510, 1_511])
    for at_ns in (1_550, 1_560, 1_570):
        clock_ns.append(at_ns)
        times.wrote(1)
    clock_ns.append(1_600)
    times.end()
    assert times.counters == {
        "timed_publications": 2,
        "start_delays_ns": 490 + 29,
        "handing_over_ns": 2 * 60 if is_held else 10 + 30,
    }
