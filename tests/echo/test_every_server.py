"""Every server, from the command line to the result file, in both ways of replying."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.support.command import Command, Done, run_once
from tests.support.plans.echo import planned

from tinygram_bench._native import Histogram
from tinygram_bench.model.parameters import EchoParameters
from tinygram_bench.ways.runtimes import LIBRARY, SHARED

MESSAGES = 240
LOAD = (
    *("--size", 1000, "--workers", 3, "--depth", 8, "--buffer", "4KiB"),
    *("--messages", MESSAGES, "--rounds", 1),
)
A_WRITE_EACH = ("nodelay", "nagle")
ON_ALL = ("nodelay", "adaptive")
OTHERS = tuple(text for text in dict.fromkeys((*LIBRARY, *SHARED)) if text not in ON_ALL)


@dataclass(frozen=True)
class Asked:
    """What a command asks for."""

    reply: str
    has_all: bool = False
    only: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()

    @property
    def options(self) -> list[str]:
        return [
            *("--reply", self.reply, *(["--all"] if self.has_all else [])),
            *(word for part in self.only for word in ("--only", part)),
            *(word for text in self.strategies for word in ("--strategy", text)),
        ]

    @property
    def ways(self) -> list[str]:
        cases = planned(
            *self.only,
            has_all=self.has_all,
            strategies=self.strategies,
            buffers_bytes=[4096],
            reply=self.reply,
        ).cases
        return [
            f"{case.runtime}/{case.implementation}/{EchoParameters.of(case).server}/{case.strategy}"
            for case in cases
        ]


ASKED = {
    "per-read": Asked("per-read"),
    "per-message": Asked("per-message", has_all=True, strategies=ON_ALL),
    # When a reply leaves is the library's, below whatever server: one of each of its modules.
    "per-message, other strategies": Asked(
        "per-message",
        only=(
            "implementation=tinygram,server=protocol,server=recv_into,server=epoll",
            "runtime=asyncio,runtime=threads,runtime=native",
        ),
        strategies=OTHERS,
    ),
}
WAYS = {name: asked.ways for name, asked in ASKED.items()}
EACH = [(name, way) for name, ways in WAYS.items() for way in ways]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """The default servers per read; per message all of them, and one of each of the library's."""
    folders = {name: tmp_path_factory.mktemp("every-server") for name in ASKED}
    return {
        name: run_once(folders[name], "echo", *LOAD, *asked.options)
        for name, asked in ASKED.items()
    }


def run_of(done: Done, way: str) -> Any:
    run = done.run_of(f"echo/{way}/")
    assert run["failure"] is None
    return run


@pytest.mark.parametrize("asked", ASKED)
def test_the_command_succeeds(done: dict[str, Done], asked: str) -> None:
    found = done[asked]
    assert found.code == 0, found.stderr
    assert len(found.runs) == len(WAYS[asked])
    assert "failed" not in found.stderr
    assert "The answer" in found.stdout


@pytest.mark.parametrize(("asked", "way"), EACH)
def test_every_message_comes_back_and_every_write_is_counted(
    done: dict[str, Done], asked: str, way: str
) -> None:
    reply = ASKED[asked].reply
    counters = run_of(done[asked], way)["counters"]
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


@pytest.mark.parametrize(("asked", "way"), EACH)
def test_every_message_has_a_round_trip_and_none_a_latency(
    done: dict[str, Done], asked: str, way: str
) -> None:
    run = run_of(done[asked], way)
    assert list(run["histograms"]) == ["round_trip_ns"]
    trips = Histogram.from_base64(run["histograms"]["round_trip_ns"])
    assert trips.count == MESSAGES
    assert trips.max_ns <= run["counters"]["run_time_ns"] * 1.001
    summaries = {each["case"]["case_id"]: each for each in done[asked].result["summaries"]}
    figures = summaries[run["case_id"]]["figures"]
    assert figures["round_trip_p50_us"]["median"] > 0
    assert figures["throughput_per_s"]["median"] > 0
    assert figures["both_ways_mb_per_s"]["median"] > 0
    assert 0 < figures["in_flight"]["median"] <= 24
    assert not [name for name in figures if name.startswith("latency_")]


def test_a_run_ends_by_time_unless_messages_are_asked_for(command: Command) -> None:
    done = command.run(
        *("--only", "runtime=native", "--duration", "200ms", "--rounds", 1),
        *("--size", 100, "--depth", 4),
    )
    assert done.code == 0
    counters = done.counters_of()
    assert counters["run_time_ns"] >= 200_000_000
    assert counters["messages"] >= 2
    # Nor are there samples unless they are asked for (test_echo_probe.py).
    assert done.runs[0]["samples"] is None
