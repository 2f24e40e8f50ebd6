"""A sender's messages: the pool's stream and nothing else, whenever and in whatever bursts."""

from __future__ import annotations

import asyncio
import queue
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import cache
from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygram_bench._native import MessagePool, Pacer, scheduled_messages
from tinygram_bench.loads import source as source_module
from tinygram_bench.loads.async_source import AsyncSource
from tinygram_bench.loads.source import Source
from tinygram_bench.ways.by_hand import asyncio_streams, queued
from tinygram_bench.ways.event_loops import loop_factory

MS = 1_000_000
LATE_NS = 5_000 * MS
"""Far more than a busy host is late, and half of what would be waited for without a deadline."""
FAR_OFF = (0.01, 1, 200_000 * MS)
"""A schedule whose first message is due after 100 s."""
POOLS = {"16,384 messages": (1, 9), "95 messages": (1, 700_000), "2 messages": (5 << 20, 22 << 20)}
LOOPS = ["asyncio", "uvloop"]
WARM_UP = st.integers(0, 300)
COUNT = st.integers(0, 300)


@cache
def pool_of(name: str) -> MessagePool:
    return MessagePool(7, *POOLS[name])


@cache
def fingerprints(name: str) -> list[int]:
    return [hash(message) for message in pool_of(name).messages()]


def stream_of(name: str, count: int) -> list[int]:
    """The pool's stream; by hash, because a message may have many megabytes."""
    turn = fingerprints(name)
    return [turn[index % len(turn)] for index in range(count)]


def source_of(
    name: str = "16,384 messages",
    warm_up: int = 0,
    count: int = 1,
    pacer: Pacer | None = None,
    has_settled: Callable[[], bool] = lambda: True,
    on_start: Callable[[], None] = lambda: None,
    hold_ns: int = 0,
) -> Source:
    return Source(pool_of(name), warm_up, count, pacer, has_settled, on_start, hold_ns)


def all_bursts(source: Source) -> list[Sequence[bytes]]:
    bursts = []
    while (burst := source.next_burst()) is not None:
        bursts.append(burst)
    assert source.next_burst() is None
    return bursts


def sent(bursts: Sequence[Sequence[bytes]]) -> list[int]:
    return [hash(message) for burst in bursts for message in burst]


def schedule(rate_per_s: float, burst: int, duration_ns: int) -> tuple[Pacer, int]:
    parameters = (rate_per_s, "constant", burst, duration_ns, 1)
    return Pacer(*parameters), scheduled_messages(*parameters)


def on_loop(loop: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
    if loop == "uvloop":
        pytest.importorskip("uvloop")
    with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
        runner.run(run())


@pytest.mark.parametrize("name", POOLS)
def test_the_pools_have_the_sizes_that_these_specifications_are_about(name: str) -> None:
    assert f"{pool_of(name).message_count:,} messages" == name
    assert pool_of(name).stream_bytes(2) == sum(map(len, pool_of(name).messages()[:2]))


@pytest.mark.parametrize("name", POOLS)
@given(warm_up=WARM_UP, count=COUNT)
@settings(max_examples=25)
def test_flat_out_the_bursts_are_the_stream_64_at_most(name: str, warm_up: int, count: int) -> None:
    source = source_of(name, warm_up, count)
    bursts = all_bursts(source)
    assert sent(bursts) == stream_of(name, warm_up + count)
    assert all(1 <= len(burst) <= 64 for burst in bursts)
    assert source.measured == (warm_up, warm_up + count)
    assert len(source.hand_overs_ns) == ceil(count / 64)
    assert list(source.hand_overs_ns) == sorted(source.hand_overs_ns)
    assert all(at_ns >= (source.start_ns or 0) for at_ns in source.hand_overs_ns)


def test_flat_out_the_stream_starts_again_where_the_pool_ends() -> None:
    name, count = "16,384 messages", 2 * 16_384 + 100
    assert sent(all_bursts(source_of(name, 1_000, count))) == stream_of(name, 1_000 + count)


@pytest.mark.parametrize("name", POOLS)
@given(warm_up=WARM_UP, burst=st.integers(1, 150), times=st.integers(1, 8))
@settings(max_examples=15)
def test_paced_the_bursts_are_the_same_stream(
    name: str, warm_up: int, burst: int, times: int
) -> None:
    pacer, count = schedule(100_000, burst, burst * times * 10_000)
    source = source_of(name, warm_up, count, pacer)
    assert sent(all_bursts(source)) == stream_of(name, warm_up + count)
    assert not source.hand_overs_ns


@given(warm_up=st.integers(0, 130), polls=st.integers(0, 3), is_paced=st.booleans())
@settings(max_examples=20)
def test_the_clock_starts_once_and_not_before_the_warm_up_has_arrived(
    warm_up: int, polls: int, is_paced: bool
) -> None:
    answers = [False] * polls + [True]
    started_ns: list[int] = []
    seen: list[int | None] = []

    def has_settled() -> bool:
        assert not started_ns
        assert source.start_ns is None
        seen.append(source.start_ns)
        return answers[len(seen) - 1]

    pacer, count = schedule(100_000, 1, MS) if is_paced else (None, 100)
    source = source_of(
        warm_up=warm_up,
        count=count,
        pacer=pacer,
        has_settled=has_settled,
        on_start=lambda: started_ns.append(time.monotonic_ns()),
    )
    assert sent(all_bursts(source)) == stream_of("16,384 messages", warm_up + count)
    assert len(seen) == polls + 1
    assert source.start_ns is not None
    assert len(started_ns) == 1
    assert started_ns[0] <= source.start_ns


def test_a_deadline_while_the_warm_up_is_still_arriving_is_kept_and_starts_no_clock() -> None:
    started: list[None] = []
    source = source_of(has_settled=lambda: False, on_start=lambda: started.append(None))
    until_ns = time.monotonic_ns() + 20 * MS
    assert source.next_burst(until_ns) == ()
    assert until_ns <= time.monotonic_ns() < until_ns + LATE_NS
    assert source.start_ns is None
    assert not started


def test_a_deadline_before_the_next_due_time_is_kept() -> None:
    pacer, count = schedule(*FAR_OFF)
    source = source_of(count=count, pacer=pacer)
    for _ in range(2):
        until_ns = time.monotonic_ns() + 20 * MS
        burst = source.next_burst(until_ns)
        assert burst is not None
        assert len(burst) == 0
        assert until_ns <= time.monotonic_ns() < until_ns + LATE_NS


@pytest.mark.parametrize(("hold_ns", "said"), [(0, "0.02 s"), (10 * MS, "0.03 s")])
def test_a_warm_up_that_never_arrives_fails_when_its_time_and_the_hold_have_passed(
    monkeypatch: pytest.MonkeyPatch, hold_ns: int, said: str
) -> None:
    monkeypatch.setattr(source_module, "_SETTLE_LIMIT_NS", 20 * MS)
    source = source_of(has_settled=lambda: False, hold_ns=hold_ns)
    began_ns = time.monotonic_ns()
    with pytest.raises(TimeoutError, match=f"warm-up had not arrived after {said}"):
        source.next_burst()
    assert 20 * MS + hold_ns <= time.monotonic_ns() - began_ns < 20 * MS + hold_ns + LATE_NS


@pytest.mark.parametrize("loop", LOOPS)
def test_a_warm_up_that_never_arrives_fails_on_an_event_loop_too(
    monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    monkeypatch.setattr(source_module, "_SETTLE_LIMIT_NS", 20 * MS)

    async def run() -> None:
        source = AsyncSource(source_of(has_settled=lambda: False))
        with pytest.raises(TimeoutError, match="warm-up had not arrived"):
            await source.next_burst()

    on_loop(loop, run)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("holds_back", [False, True], ids=["exact timers", "ordinary timers"])
@given(warm_up=WARM_UP, burst=st.integers(0, 100), polls=st.integers(0, 2))
@settings(max_examples=10)
def test_an_event_loop_gets_the_same_stream_flat_out_and_paced(
    loop: str, holds_back: bool, warm_up: int, burst: int, polls: int
) -> None:
    """A burst of 0 stands for flat out."""
    pacer, count = schedule(100_000, burst, MS) if burst else (None, 200)
    answers = [True] + [False] * polls
    inner = source_of(
        "95 messages", warm_up, count, pacer, lambda: answers.pop(), hold_ns=MS * holds_back
    )

    async def run() -> None:
        source = AsyncSource(inner)
        bursts = []
        while (messages := await source.next_burst()) is not None:
            bursts.append(messages)
        assert sent(bursts) == stream_of("95 messages", warm_up + count)
        assert len(inner.hand_overs_ns) == (0 if burst else ceil(count / 64))

    on_loop(loop, run)


@pytest.mark.parametrize("is_paced", [False, True], ids=["flat out", "paced"])
def test_the_end_comes_no_sooner_than_asked_and_deadlines_before_it_are_kept(
    is_paced: bool,
) -> None:
    pacer, count = schedule(100_000, 1, MS) if is_paced else (None, 100)
    ending = Source(
        pool_of("95 messages"), 0, count, pacer, lambda: True, lambda: None, over_ns=60 * MS
    )
    found: list[Sequence[bytes]] = []
    while sum(map(len, found)) < count:
        burst = ending.next_burst()
        assert burst is not None
        found.append(burst)
    assert sent(found) == stream_of("95 messages", count)
    assert ending.start_ns is not None
    over_ns = ending.start_ns + 60 * MS
    until_ns = time.monotonic_ns() + 10 * MS
    assert ending.next_burst(until_ns) == ()
    assert time.monotonic_ns() >= until_ns
    assert ending.next_burst() is None
    assert over_ns <= time.monotonic_ns() < over_ns + LATE_NS


@pytest.mark.parametrize("loop", LOOPS)
def test_an_event_loop_runs_on_until_the_messages_end(loop: str) -> None:
    ending = Source(
        pool_of("95 messages"), 0, 100, None, lambda: True, lambda: None, over_ns=60 * MS
    )
    ran: list[str] = []

    async def run() -> None:
        source = AsyncSource(ending)
        asyncio.get_running_loop().call_later(0.02, lambda: ran.append("timer"))
        while await source.next_burst() is not None:
            continue
        ran.append("end")

    on_loop(loop, run)
    assert ran == ["timer", "end"]
    assert ending.start_ns is not None
    over_ns = ending.start_ns + 60 * MS
    assert over_ns <= time.monotonic_ns() < over_ns + LATE_NS


CHUNKS = st.lists(st.integers(0, 150), max_size=5)
"""How many messages are put into a queue before its sender wakes, again and again."""


def in_chunks(chunks: Sequence[int]) -> list[list[bytes | None]]:
    numbers = iter(range(sum(chunks)))
    found: list[list[bytes | None]] = [[b"%d" % next(numbers) for _ in range(n)] for n in chunks]
    return [*found[:-1], [*found[-1], None]] if found else [[None]]


@given(chunks=CHUNKS)
def test_what_leaves_a_threads_queue_is_what_went_in_64_at_most(chunks: Sequence[int]) -> None:
    messages: queue.Queue[bytes | None] = queue.Queue()
    bursts = queued.QueuedBursts(messages)
    taken: list[bytes] = []
    for chunk in in_chunks(chunks):
        for message in chunk:
            messages.put(message)
        while burst := bursts.next_burst(time.monotonic_ns()):
            assert len(burst) <= 64
            taken += burst
        assert burst == (None if None in chunk else ())
    assert taken == [b"%d" % number for number in range(sum(chunks))]
    assert bursts.next_burst() is None
    assert bursts.next_burst(time.monotonic_ns()) is None


@pytest.mark.parametrize("loop", LOOPS)
@given(chunks=CHUNKS)
@settings(max_examples=30)
def test_what_leaves_an_event_loops_queue_is_what_went_in_64_at_most(
    loop: str, chunks: Sequence[int]
) -> None:
    async def run() -> None:
        messages: asyncio.Queue[bytes | None] = asyncio.Queue()
        bursts = asyncio_streams.QueuedBursts(messages)
        taken: list[bytes] = []
        for chunk in in_chunks(chunks):
            for message in chunk:
                messages.put_nowait(message)
            while burst := await bursts.next_burst(time.monotonic_ns()):
                assert len(burst) <= 64
                taken += burst
            assert burst == (None if None in chunk else ())
        assert taken == [b"%d" % number for number in range(sum(chunks))]
        assert await bursts.next_burst() is None
        assert await bursts.next_burst(time.monotonic_ns()) is None

    on_loop(loop, run)


def test_an_empty_threads_queue_keeps_the_deadline() -> None:
    bursts = queued.QueuedBursts(queue.Queue())
    until_ns = time.monotonic_ns() + 20 * MS
    assert bursts.next_burst(until_ns) == ()
    assert until_ns <= time.monotonic_ns() < until_ns + LATE_NS


@pytest.mark.parametrize("loop", LOOPS)
def test_an_empty_event_loops_queue_keeps_the_deadline_and_loses_nothing_at_it(loop: str) -> None:
    async def run() -> None:
        messages: asyncio.Queue[bytes | None] = asyncio.Queue()
        bursts = asyncio_streams.QueuedBursts(messages)
        until_ns = time.monotonic_ns() + 20 * MS
        assert await bursts.next_burst(until_ns) == ()
        # An event loop's timers count whole milliseconds (uvloop) or its clock's steps.
        assert until_ns - 2 * MS <= time.monotonic_ns() < until_ns + LATE_NS
        taken: list[bytes] = []
        for number in range(50):
            asyncio.get_running_loop().call_later(0.001, messages.put_nowait, b"%d" % number)
            taken += await bursts.next_burst(time.monotonic_ns() + MS) or ()
        await asyncio.sleep(0.01)
        messages.put_nowait(None)
        while (burst := await bursts.next_burst()) is not None:
            taken += burst
        assert taken == [b"%d" % number for number in range(50)]

    on_loop(loop, run)
