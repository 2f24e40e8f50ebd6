"""What `turns.alone` tells of a result: figures that lie apart, and ratios over the cases."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.experiments import way
from turns import alone

from tinygram_bench.model.result import Figure
from tinygram_bench.trust.judging import BothWays

ROOT = Path(__file__).parents[2]


def both_ways(figure: str, in_slices: float, lone: float, rate_per_s: float | None) -> BothWays:
    case = way("loop/nodelay", rate_per_s)
    near = [Figure(value, value * 0.99, value * 1.01) for value in (in_slices, lone)]
    return BothWays(case, figure, *near)


def test_a_figure_that_lies_apart_is_told_with_both_intervals() -> None:
    (row,) = alone._apart([both_ways("latency_p50_us", 20.0, 30.0, 1_000.0)])
    assert row.row == "loop/nodelay, stream 1,000/s"
    assert row.figures == {
        "figure": "median latency",
        "in slices": "19.8–20.2",
        "alone": "29.7–30.3",
    }


def test_ratios_are_over_all_cases_and_those_of_cpu_time_load_by_load() -> None:
    found = [both_ways("latency_p50_us", 10.0, 10.0 + at, 1_000.0 * at) for at in range(1, 10)]
    found += [both_ways("cpu_s_per_million", 10.0, 8.0, rate) for rate in (1_000.0, None)]
    rows = {row.row: row.figures for row in alone._ratios(found)}
    latency = rows["median latency of stream"]
    assert (latency["cases"], latency["middle"]) == (9, 1.5)
    tenths = latency["most"]
    assert isinstance(tenths, list)
    assert [round(each, 3) for each in tenths if isinstance(each, float)] == [1.18, 1.82]
    for load in ("1,000/s", "flat out"):
        # One case has no tenths.
        cpu = rows[f"CPU time per million messages, stream {load}"]
        assert cpu == {"cases": 1, "middle": 0.8}


def test_a_case_over_a_link_is_of_a_kind_of_its_own() -> None:
    here = both_ways("cpu_s_per_million", 10.0, 8.0, 1_000.0)
    there = replace(here, case=replace(here.case, link="rtt=1ms"))
    kinds = [row.row for row in alone._ratios([here, there])]
    assert kinds[1] == f"{kinds[0]} over rtt=1ms"


def test_a_result_without_runs_alone_is_refused_with_the_command_that_makes_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = str(ROOT / "results/published/asyncio.html")
    monkeypatch.setattr(sys, "argv", ["alone", path])
    with pytest.raises(SystemExit, match=r"tinygram trust --against-lone --json FILE"):
        alone.main()
