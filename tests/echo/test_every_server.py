"""Every server, from the command line to the result file, in both ways of replying."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.command import Command, Done, run_once
from tests.support.plans.echo import planned

from tinygram_bench._native import Histogram
from tinygram_bench.model.parameters import EchoParameters

MESSAGES = 240
LOAD = (
    *("--size", 1000, "--workers", 3, "--depth", 8, "--buffer", "4KiB"),
    *("--messages", MESSAGES, "--rounds", 1),
)
CASES = {
    reply: [
        f"{case.runtime}/{case.implementation}/{EchoParameters.of(case).server}/{case.strategy}"
        for case in planned(has_all=has_all, buffers_bytes=[4096], reply=reply).cases
    ]
    for reply, has_all in (("per-read", False), ("per-message", True))
}
BOTH = [(reply, way) for reply, found in CASES.items() for way in found]
A_WRITE_EACH = ("nodelay", "nagle")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """The default servers per read, and all of them per message."""
    return {
        "per-read": measured(tmp_path_factory, "--reply", "per-read"),
        "per-message": measured(tmp_path_factory, "--reply", "per-message", "--all"),
    }


def measured(tmp_path_factory: pytest.TempPathFactory, *options: object) -> Done:
    return run_once(tmp_path_factory.mktemp("every-server"), "echo", *LOAD, *options)


def run_of(done: Done, way: str) -> Any:
    run = done.run_of(f"echo/{way}/")
    assert run["failure"] is None
    return run


@pytest.mark.parametrize("reply", CASES)
def test_the_command_succeeds(done: dict[str, Done], reply: str) -> None:
    found = done[reply]
    assert found.code == 0, found.stderr
    assert len(found.runs) == len(CASES[reply])
    assert "failed" not in found.stderr
    assert "The answer" in found.stdout


@pytest.mark.parametrize(("reply", "way"), BOTH)
def test_every_message_comes_back_and_every_write_is_counted(
    done: dict[str, Done], reply: str, way: str
) -> None:
    counters = run_of(done[reply], way)["counters"]
    assert counters["messages"] == MESSAGES
    assert counters["bytes"] == counters["written_bytes"] == MESSAGES * 1000
    assert counters["exchanged_bytes"] == 2 * counters["bytes"]
    assert counters["cpu_ns"] > 0
    assert counters["client_cpu_ns"] > 0
    assert counters["most_messages_of_a_worker"] == MESSAGES // 3
    if reply == "per-message" and way.rpartition("/")[2] in A_WRITE_EACH:
        # An event loop gathers what did not fit into the send buffer.
        assert counters["writes"] == MESSAGES or counters["would_block"] > 0
    else:
        assert 0 < counters["writes"] <= MESSAGES * (1 if reply == "per-message" else 2)


@pytest.mark.parametrize(("reply", "way"), BOTH)
def test_every_message_has_a_round_trip_and_none_a_latency(
    done: dict[str, Done], reply: str, way: str
) -> None:
    run = run_of(done[reply], way)
    assert list(run["histograms"]) == ["round_trip_ns"]
    trips = Histogram.from_base64(run["histograms"]["round_trip_ns"])
    assert trips.count == MESSAGES
    assert trips.max_ns <= run["counters"]["run_time_ns"] * 1.001
    summaries = {each["case"]["case_id"]: each for each in done[reply].result["summaries"]}
    figures = summaries[run["case_id"]]["figures"]
    assert figures["round_trip_p50_us"]["median"] > 0
    assert figures["throughput_per_s"]["median"] > 0
    assert figures["both_ways_mb_per_s"]["median"] > 0
    assert 0 < figures["in_flight"]["median"] <= 24
    assert not [name for name in figures if name.startswith("latency_")]


def test_a_run_ends_by_time_unless_messages_are_asked_for(command: Command) -> None:
    done = command.run(
        *("--only", "runtime=native", "--duration", "1s", "--rounds", 1),
        *("--size", 100, "--depth", 4),
    )
    assert done.code == 0
    counters = done.counters_of()
    assert counters["run_time_ns"] >= 1_000_000_000
    assert counters["messages"] >= 2
