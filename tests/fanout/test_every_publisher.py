"""Every publisher, from the command line to the result file, with one subscriber and with many."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.command import Command, Done

from tinygram_bench import _native
from tinygram_bench._native import Histogram
from tinygram_bench.workloads.fanout.publishing import PUBLISHERS

SUBSCRIBERS = (1, 300)
BYTES = 100
RATE_PER_S, DURATION_S = 50, 0.2
PUBLICATIONS = round(RATE_PER_S * DURATION_S)
LOAD = ("--size", BYTES, "--duration", "200ms", "--rounds", 1)
WAYS = [
    f"{known.runtime}/{known.implementation}/{known.name}/{strategy}"
    for known in PUBLISHERS
    for strategy in known.defaults
]
EACH = [(way, count) for way in WAYS for count in SUBSCRIBERS]


@pytest.fixture(scope="module")
def flat_out(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """All publishers of a load in turns."""
    return measured(tmp_path_factory)


@pytest.fixture(scope="module")
def paced(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Each publisher alone."""
    return measured(tmp_path_factory, "--rate", RATE_PER_S, "--lone")


def measured(tmp_path_factory: pytest.TempPathFactory, *options: object) -> Done:
    counts = [word for count in SUBSCRIBERS for word in ("--subscribers", count)]
    command = Command(tmp_path_factory.mktemp("every-publisher"), "fanout")
    done = command.run(*counts, *LOAD, *options)
    command.end()
    assert done.code == 0, done.stderr
    assert "The answer" in done.stdout
    return done


def run_of(done: Done, way: str, count: int) -> Any:
    if way.startswith("native/tinygram/io_uring") and _native.io_uring_refusal() is not None:
        pytest.skip("this kernel does not permit io_uring")
    found = [
        run
        for run in done.runs
        if run["case_id"].startswith(f"fanout/{way}/")
        and f"/{count}-subscribers/" in run["case_id"]
    ]
    assert len(found) == 1
    assert found[0]["failure"] is None
    return found[0]


@pytest.mark.parametrize(("way", "count"), EACH)
def test_every_message_comes_to_every_subscriber(flat_out: Done, way: str, count: int) -> None:
    counters = run_of(flat_out, way, count)["counters"]
    publications = counters["publications"]
    assert publications > 0
    assert counters["messages"] == publications * count
    assert counters["bytes"] == counters["messages"] * BYTES
    assert counters["cpu_ns"] > 0
    assert counters["receiver_cpu_ns"] > 0
    assert 0 <= counters["middle_messages"] <= counters["messages"]


@pytest.mark.parametrize(("way", "count"), EACH)
def test_a_write_hands_over_one_message_or_by_io_uring_those_to_all(
    flat_out: Done, way: str, count: int
) -> None:
    counters = run_of(flat_out, way, count)["counters"]
    if "io_uring" in way:
        assert counters["writes"] >= counters["publications"]
        # A subscriber whose socket was full has what waits for it in a call of its own.
        assert counters["writes"] < counters["messages"] or count == 1
    elif "tinygram" not in way or "native" in way:
        # The kernel may take a part of a message; the rest is a write of its own.
        more = counters["writes"] - counters["messages"]
        assert 0 <= more <= counters["messages"] / 1_000 or counters["would_block"] > 0
    else:
        assert 0 < counters["writes"] <= counters["messages"]


@pytest.mark.parametrize(("way", "count"), EACH)
def test_an_event_loop_times_how_long_it_hands_publications_over(
    flat_out: Done, paced: Done, way: str, count: int
) -> None:
    for done in (flat_out, paced):
        run = run_of(done, way, count)
        counters = run["counters"]
        if way.startswith("native"):
            assert "handing_over_ns" not in counters
            continue
        # What settles is left out by both ends alike.
        lasts = Histogram.from_base64(run["histograms"]["last_ns"])
        assert counters["timed_publications"] == lasts.count > 0
        assert counters["handing_over_ns"] > 0
        assert counters["start_delays_ns"] >= 0


@pytest.mark.parametrize(("way", "count"), EACH)
def test_each_case_of_a_load_has_slices(flat_out: Done, way: str, count: int) -> None:
    run = run_of(flat_out, way, count)
    slices = run["counters"]["slices"]
    assert slices >= 1
    for figure in ("throughput_per_s", "cpu_s_per_million", "last_p50_us", "late_us"):
        assert len(run["slices"][figure]) == slices
    assert list(run["histograms"]) == ["last_ns"]


@pytest.mark.parametrize("count", SUBSCRIBERS)
@pytest.mark.parametrize("way", WAYS)
def test_a_schedule_is_kept_and_every_message_timed(paced: Done, way: str, count: int) -> None:
    run = run_of(paced, way, count)
    assert run["counters"]["publications"] == PUBLICATIONS
    assert run["counters"]["messages"] == PUBLICATIONS * count
    latencies = Histogram.from_base64(run["histograms"]["latency_ns"])
    lasts = Histogram.from_base64(run["histograms"]["last_ns"])
    # What is due in the first 15 % is not measured: the first publication.
    assert latencies.count == lasts.count * count
    assert lasts.count == PUBLICATIONS - 1
    assert lasts.max_ns == latencies.max_ns
    assert lasts.min_ns >= latencies.min_ns > 0


@pytest.mark.parametrize("arrival", ["poisson", "onoff"])
def test_all_that_is_due_is_published_however_it_arrives(command: Command, arrival: str) -> None:
    ways = ("--only", "asyncio/protocol", "--only", "native/epoll", "--subscribers", 2)
    load = ("--rate", 2_000, "--duration", "200ms", "--rounds", 1)
    done = command.run(*ways, *load, "--arrival", arrival)
    assert done.code == 0, done.stderr
    assert [run["counters"]["publications"] for run in done.runs] == [400, 400]
    assert {case["arrival"] for case in done.result["plan"]["cases"]} == {arrival}
