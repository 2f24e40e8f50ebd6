"""Several threads hand messages over: each one's in order, each from its own times."""

from __future__ import annotations

import threading
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.command import Done, Refused, run_once

from tinygram_bench._native import Histogram, MessagePool, Pacer, StreamCheck
from tinygram_bench.loads.producers import produce
from tinygram_bench.loads.source import Share, Source

WAYS = [
    "threads/stdlib/nagle",
    "threads/stdlib/nodelay",
    "threads/stdlib/coalesce:10us",
    "threads/stdlib-lock/nodelay",
    "threads/tinygram/combine",
    "threads/tinygram/coalesce:10us",
    "threads/tinygram/adaptive",
]


def source_of(
    producers: int, warm_up: int, count: int, pacers: list[Pacer] | None = None
) -> Source:
    messages = MessagePool(7, 1, 9, producers).messages()
    shares = [
        Share(messages, warm_up + first, producers, warm_up + count, pacer)
        for first, pacer in zip(range(min(producers, count)), pacers or repeat(None), strict=False)
    ]
    pool = MessagePool(7, 1, 9, producers)
    return Source(pool, warm_up, count, None, lambda: True, lambda: None, 0, shares)


def check_all_sent(sent: list[bytes], producers: int, messages: int) -> None:
    """In the order of `sent`: what a receiver makes of it."""
    check = StreamCheck(MessagePool(7, 1, 9, producers), messages)
    for message in sent:
        check.push(message)
    check.finish()


@given(
    producers=st.integers(2, 32),
    warm_up=st.integers(0, 100),
    count=st.integers(1, 400),
    takes_lists=st.booleans(),
)
@settings(deadline=None, max_examples=30)
def test_all_messages_are_sent_once_each_producers_own_in_order(
    producers: int, warm_up: int, count: int, takes_lists: bool
) -> None:
    sent: list[bytes] = []
    source = source_of(producers, warm_up, count)
    produce(source, sent.append, send_many=sent.extend if takes_lists else None)
    check_all_sent(sent, producers, warm_up + count)
    handed_over = [len(share.hand_overs_ns) for share in source.shares]
    assert sum(handed_over) >= count / 64
    assert all(count >= 1 for count in handed_over)


@pytest.mark.parametrize("takes_lists", [False, True])
def test_paced_messages_are_handed_over_when_they_are_due_and_no_sooner(
    takes_lists: bool,
) -> None:
    schedule = (2_000.0, "constant", 1, 100_000_000, 1)
    pacers = [Pacer(*schedule, (first, 4)) for first in range(4)]
    source = source_of(4, 10, 200, pacers)
    sent: list[bytes] = []
    produce(source, sent.append, send_many=sent.extend if takes_lists else None)
    check_all_sent(sent, 4, 210)
    assert source.start_ns is not None
    for first, share in enumerate(source.shares):
        assert len(share.hand_overs_ns) == 50
        for turn, at_ns in enumerate(share.hand_overs_ns):
            due_ns = source.start_ns + 500_000 * (1 + first + 4 * turn)
            assert at_ns >= due_ns - 1


def test_a_producer_that_has_sent_all_its_messages_sends_them_again_in_order() -> None:
    messages = [b"%d" % number for number in range(10)]
    share = Share(messages, 3, 2, 3 + 2 * 200, None)
    sent: list[bytes] = []
    share.send(sent.append, lambda: False)
    assert sent == [b"%d" % ((3 + 2 * number) % 10) for number in range(200)]


def test_the_first_failure_ends_all_producers_and_is_raised() -> None:
    source = source_of(8, 0, 1_000_000)
    calls = []

    def send(message: bytes) -> None:
        calls.append(message)
        if len(calls) > 500:
            raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        produce(source, send)
    assert len(calls) < 10_000
    assert not [t for t in threading.enumerate() if t.name.startswith("producer-")]


@pytest.fixture(scope="module", params=["flat out", "paced"])
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("producers")
    load = ("--messages", 3_000) if request.param == "flat out" else PACED
    return run_once(folder, "stream", "--producers", 4, "--busy-thread", "--rounds", 1, *load)


PACED = ("--rate", 400, "--duration", "500ms")


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_threads_takes_messages_from_several(done: Done, way: str) -> None:
    assert done.code == 0, done.stderr
    assert sorted(WAYS) == sorted(
        run["case_id"].split("/", 1)[1][: -len(tail(run))] for run in done.runs
    )
    [run] = [run for run in done.runs if run["case_id"].startswith(f"stream/{way}/")]
    assert run["failure"] is None
    assert run["case_id"].endswith("/4-producers/busy-thread")
    counters = run["counters"]
    assert counters["written_bytes"] == counters["bytes"]
    # Without the neighbour's share, which is told apart.
    assert counters["busy_thread_cpu_ns"] > 0
    assert counters["cpu_ns"] > 0
    queueing = Histogram.from_base64(run["histograms"]["queueing_ns"])
    if "latency_ns" in run["histograms"]:
        latency = Histogram.from_base64(run["histograms"]["latency_ns"])
        assert queueing.count == latency.count == counters["messages"] == 200
        # A call is never before the intended time.
        assert latency.mean_ns >= queueing.mean_ns
    else:
        assert queueing.count == 4 * -(-3_000 // (4 * 64))


def tail(run: Any) -> str:
    """The part of a case's name that is the load's."""
    name = str(run["case_id"])
    return name[name.index("/loopback/") :]


def test_only_threads_have_several_producers(tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / "result.json"
    words = ("stream", "--producers", "8", "--only", "runtime=asyncio", "--json", str(path))
    said = "runtime=asyncio with --producers 8: several producers are for runtime=threads"
    refused(words, (said,))
    assert not path.exists()
