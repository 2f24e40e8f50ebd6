"""An echo that several hosts load: their workers and messages add up, and each one is told of."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.in_process import CLIENTS, echo_plan, runs_of
from tests.support.experiments import result_of, warned
from tests.support.measured.echo import run_of

from tinygram_bench._native import Histogram
from tinygram_bench.cluster.merging import Part, merged
from tinygram_bench.cluster.shares import shared_out
from tinygram_bench.model.result import Case, Plan, Run, Warning
from tinygram_bench.report.loads.hosts import host_tables, part_tables
from tinygram_bench.statistics.figures.counters import FORMULAS
from tinygram_bench.tls.records import RECORD_OVERHEAD_BYTES
from tinygram_bench.workloads.echo import run as echo_run
from tinygram_bench.workloads.turns import arrival_seed

SERVERS = ("asyncio/protocol", "threads/recv", "native/epoll")
"""The last one does not encrypt."""


def trips_of(run: Run) -> Histogram:
    return Histogram.from_base64(run.histograms["round_trip_ns"])


@pytest.mark.parametrize("tls", [False, True])
def test_all_servers_answer_the_workers_of_all_hosts_and_the_messages_add_up(tls: bool) -> None:
    only = SERVERS[:2] if tls else SERVERS
    asked = echo_plan(*only, workers=5, tls=[tls])
    runs = runs_of(asked, CLIENTS)
    assert [run.failure for run in runs] == [None] * len(only)
    for run in runs:
        counters = run.counters
        assert [each.connections for each in run.hosts] == [2, 2, 1]
        assert counters["messages"] == sum(each.messages or 0 for each in run.hosts)
        assert counters["bytes"] == (counters["messages"] or 0) * 1_000
        assert counters["generators"] == CLIENTS
        if tls:
            records_bytes = RECORD_OVERHEAD_BYTES * (counters["tls_records"] or 0)
            assert counters["wire_bytes"] == (counters["bytes"] or 0) + records_bytes
        longest_us = [each.round_trip_max_us or 0 for each in run.hosts]
        assert trips_of(run).max_ns / 1e3 == max(longest_us)
        assert trips_of(run).count == counters["middle_messages"]
        assert min(each.throughput_per_s or 0 for each in run.hosts) > 0
        assert len(run.slices["throughput_per_s"]) == counters["slices"]
        assert (counters["step_error_ns"] or 0) > 0
        # They are the least and the most that a worker of any host had, and no sums.
        fewest, most = (counters[f"{each}_messages_of_a_worker"] for each in ("fewest", "most"))
        assert 5 * (fewest or 0) <= (counters["middle_messages"] or 0) <= 5 * (most or 0)


@pytest.mark.parametrize("arrival", ["constant", "poisson"])
def test_each_host_has_its_share_of_the_rate_and_arrivals_of_its_own(
    monkeypatch: pytest.MonkeyPatch, arrival: str
) -> None:
    seeds: list[int] = []

    def kept(seed: int, round: int, generator: int) -> int:
        seeds.append(arrival_seed(seed, round, generator))
        return seeds[-1]

    monkeypatch.setattr(echo_run, "arrival_seed", kept)
    asked = echo_plan("asyncio/protocol", workers=6, rates_per_s=[3_000.0], arrival=arrival)
    (run,) = runs_of(asked, CLIENTS)
    assert run.failure is None
    assert [each.rate_per_s for each in run.hosts] == [1_000.0] * CLIENTS
    assert len(set(seeds)) == CLIENTS
    counters = run.counters
    # Each message that was due came back, or is told as one that was not begun.
    assert (counters["messages"] or 0) + (counters["messages_not_begun"] or 0) == 600
    assert Histogram.from_base64(run.histograms["start_delay_ns"]).count == trips_of(run).count


def test_a_host_that_is_lost_is_named_and_the_run_of_the_others_is_partial() -> None:
    (run,) = runs_of(echo_plan("threads/recv", workers=6), CLIENTS, loses={1: "warm"})
    assert run.failure is None
    assert [each.failure for each in run.hosts] == [None, "its power was cut", None]
    (partial,) = [each for each in run.warnings if each.code == "partial_cluster"]
    assert "host 1: its power was cut" in partial.message
    assert partial.figures == ("",)
    assert run.counters["generators"] == 2


def shared_case(**changes: Any) -> tuple[Plan, Case]:
    asked = echo_plan("asyncio/protocol", workers=15, **changes)
    (case,) = asked.cases
    return asked, case


def merged_of(case: Case, rates_per_s: list[float], *warnings: tuple[Warning, ...]) -> Run:
    """A run of hosts that had so many messages in a second; `warnings`: of each host's run."""
    told = warnings or ((),) * len(rates_per_s)
    shares = shared_out(case, len(rates_per_s), 1)
    return merged(
        case,
        0,
        [
            Part(f"host {n}", "server", share, warned(run_of(share, 0, rate), *of_host), 5, 0)
            for n, (share, rate, of_host) in enumerate(zip(shares, rates_per_s, told, strict=True))
        ],
    )


def test_messages_add_up_in_the_time_that_all_had_and_clients_are_busy_on_average() -> None:
    _, case = shared_case()
    counters = merged_of(case, [1_000, 2_000, 3_000]).counters
    found = {name: FORMULAS[name](counters) for name in ("throughput_per_s", "client_cpu_share")}
    assert found == {"throughput_per_s": 6_000, "client_cpu_share": pytest.approx(0.4)}
    assert FORMULAS["in_flight"](counters) == pytest.approx(3 * 4.9)


def test_a_host_that_falls_behind_is_named_though_the_others_do_not() -> None:
    _, case = shared_case(rates_per_s=[3_000.0])
    behind = Warning("fell_behind", "40 of 900 messages could not be begun", ("round_trip_",))
    run = merged_of(case, [1_000] * 3, (), (behind,), ())
    (told,) = [each for each in run.warnings if each.code == "fell_behind"]
    assert told.message.startswith("host 1: 40 of 900 messages")
    assert told.figures == ("round_trip_",)
    assert [each.warnings for each in run.hosts] == [(), ("fell_behind",), ()]


@pytest.mark.parametrize("rates_per_s", [[], [3_000.0]])
def test_the_report_has_a_row_of_each_host_and_its_round_trips(rates_per_s: list[float]) -> None:
    asked, case = shared_case(rates_per_s=rates_per_s)
    result = result_of(asked, [merged_of(case, [1_000, 2_000, 4_000])])
    (hosts,) = host_tables(result)
    assert [row.cells[0] for row in hosts.rows] == ["host 0", "host 1", "host 2", "all"]
    assert [row.cells[2] for row in hosts.rows] == ["1,000", "2,000", "4,000", "7,000"]
    (parts,) = part_tables(result, {case.case_id: "asyncio/protocol"})
    assert [row.cells[:2] for row in parts.rows] == [
        ("asyncio/protocol", f"host {number}") for number in range(CLIENTS)
    ]
    assert {row.cells[2] for row in parts.rows} == {"1.000k" if rates_per_s else "–"}
    medians_us = [float(row.cells[4].replace(",", "")) for row in parts.rows]
    assert medians_us == pytest.approx([5_000, 2_500, 1_250], rel=0.01)
