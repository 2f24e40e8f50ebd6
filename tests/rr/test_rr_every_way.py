"""Every way of calling, of connecting and of serving, from the command to the stored result."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.support.command import Command

from tinygram_bench._native import Histogram
from tinygram_bench.workloads.rr.calling import RUNTIMES
from tinygram_bench.workloads.rr.cases import CONNECTIONS
from tinygram_bench.workloads.rr.serving import SERVERS
from tinygram_bench.workloads.rr.withheld import REQUESTS

SMALL = ("--rounds", 1, "--pin", "none", "--callers", "2x3", "--calls", 5, "--warm-up", 2)


def each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def test_every_call_is_counted_on_both_sides(command: Command) -> None:
    done = command.run(
        *(*SMALL, *each("--runtime", RUNTIMES), *each("--connections", CONNECTIONS)),
        *("--sends-per-request", 3, "--strategy", "nodelay"),
    )
    assert done.code == 0, done.stderr
    assert len(done.runs) == len(RUNTIMES) * len(CONNECTIONS)
    cases = {case["case_id"]: case for case in done.result["plan"]["cases"]}
    for index, run in enumerate(done.runs):
        counters = done.counters_of(index)
        kind = cases[run["case_id"]]["parameters"]["connections"]
        assert counters["calls"] == 2 * 3 * 5
        assert counters["server_requests"] == 2 * 3 * (5 + 2) + REQUESTS
        opened = {"per-request": 2 * 3 * (5 + 2), "per-caller": 2 * 3, "shared": 2}[kind]
        assert counters["server_connections"] == opened + REQUESTS
        connects = {"per-request": 2 * 3 * 5, "per-caller": 2 * 3, "shared": 2}[kind]
        histograms = {name: Histogram.from_base64(text) for name, text in run["histograms"].items()}
        assert histograms["call_ns"].count == 2 * 3 * 5
        assert histograms["connect_ns"].count == connects
        in_calls_ns = counters["call_time_ns"] + counters["connect_time_ns"]
        assert 0 < in_calls_ns <= counters["callers_time_ns"]


def test_every_server_answers_every_request(command: Command) -> None:
    done = command.run(
        *(*SMALL, "--runtime", "native", *each("--server-runtime", SERVERS), "--quickack"),
        *("--server-strategy", "nagle", "--server-strategy", "nodelay", "--connections", "shared"),
        *("--depth", 2, "--reply", "100kB", "--request", 7, "--sends-per-request", 7),
    )
    assert done.code == 0, done.stderr
    assert len(done.runs) == len(SERVERS) * 4
    for index in range(len(done.runs)):
        assert done.counters_of(index)["server_requests"] == 42 + REQUESTS


def test_a_run_of_a_duration_ends_with_it_and_finishes_its_calls(command: Command) -> None:
    done = command.run(
        *("--rounds", 1, "--pin", "none", "--callers", "1x4", "--duration", "1s"),
        *("--runtime", "native", "--connections", "per-caller", "--sends-per-request", 1),
    )
    assert done.code == 0, done.stderr
    figures = {each["case"]["case_id"]: each["figures"] for each in done.result["summaries"]}
    for index, run in enumerate(done.runs):
        counters = done.counters_of(index)
        assert counters["callers_time_ns"] >= 4 * 1_000_000_000
        assert counters["run_time_ns"] >= 1_000_000_000
        rate = counters["calls"] * 4 / counters["callers_time_ns"] * 1e9
        assert figures[run["case_id"]]["calls_per_s"]["median"] == pytest.approx(rate)
        assert figures[run["case_id"]]["calls_in_flight"]["median"] <= 4.0


def test_what_the_kernel_counts_is_without_the_warm_up(command: Command) -> None:
    done = command.run(
        *("--rounds", 1, "--pin", "none", "--callers", "1x1", "--calls", 1, "--warm-up", 100),
        *("--runtime", "native", "--connections", "per-caller", "--connections", "per-request"),
        *("--sends-per-request", 1, "--strategy", "nodelay"),
    )
    assert done.code == 0, done.stderr
    segments = [done.counters_of(index)["kernel_OutSegs"] for index in range(2)]
    # None: the run was in the host's network.
    assert all(count is None or 2 <= count < 20 for count in segments)


def test_what_the_kernel_held_beside_a_run_is_in_its_result(command: Command) -> None:
    done = command.run(
        *("--rounds", 1, "--pin", "none", "--callers", "1x3", "--duration", "1s"),
        *("--runtime", "native", "--connections", "per-caller", "--sends-per-request", 1),
        *("--strategy", "nodelay", "--probe", "5ms"),
    )
    assert done.code == 0, done.stderr
    [run] = done.runs
    columns = run["samples"]["columns"]
    assert len(columns["at_ns"]) > 1
    assert 0 <= columns["at_ns"][0] <= columns["at_ns"][-1] <= done.counters_of()["run_time_ns"]
    assert max(columns["client_connections"]) == 3
    assert max(columns["server_connections"]) == 3
    assert "probed" in {warning["code"] for warning in run["warnings"]}
    assert done.result["plan"]["cases"][0]["parameters"]["probe_ns"] == 5_000_000
