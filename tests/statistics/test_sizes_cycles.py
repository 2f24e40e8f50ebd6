"""Samples that alternated are compared cycle by cycle; those that did not, round by round."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.support.experiments import failed, histogram, result_of
from tests.support.plans.sizes import planned

from tinygram_bench.model.result import Case, Plan, Run, Verdict
from tinygram_bench.statistics.workloads.loads import is_alone, turns_of
from tinygram_bench.statistics.workloads.sizes import TIME

HOST_US = (100.0, 900.0, 300.0, 2_700.0, 500.0)
"""What the host makes of the same sample, from cycle to cycle."""


def two_ways(**changes: object) -> Plan:
    ways = {"sizes_bytes": [1_000], "round_trips": [1], "strategies": ["nodelay", "nagle"]}
    return planned(**(ways | {"takes_turns": True} | changes))


def run_of(case: Case, number: int, median_us: float, cycles_us: Sequence[float]) -> Run:
    total = histogram([round(median_us * 1_000)] * 100)
    slices: dict[str, tuple[float | None, ...]] = {TIME: tuple(cycles_us)} if cycles_us else {}
    return Run(case.case_id, number, {}, {"total_ns": total}, slices=slices)


def runs_of(plan: Plan, *, has_cycles: bool = True) -> list[Run]:
    """By its medians the second way takes 1.2 times as long, cycle by cycle 0.9 times."""
    runs = []
    for number in range(plan.rounds):
        for case, median_us, factor in zip(plan.cases, (400, 480), (1.0, 0.9), strict=True):
            cycles_us = [(number + 1) * each_us * factor for each_us in HOST_US]
            runs.append(run_of(case, number, median_us, cycles_us if has_cycles else ()))
    return runs


def verdict_on(plan: Plan, runs: Sequence[Run]) -> Verdict:
    (found,) = result_of(plan, runs).verdicts
    assert found.figure == TIME
    return found


def test_a_rounds_ratio_is_that_of_the_samples_of_a_cycle() -> None:
    plan = two_ways()
    found = verdict_on(plan, runs_of(plan))
    assert found.verdict == "faster"
    assert found.ratio is not None
    for ratio in (found.ratio.low, found.ratio.median, found.ratio.high):
        assert ratio == pytest.approx(0.9)


def test_alone_it_is_that_of_the_rounds_medians() -> None:
    plan = two_ways(takes_turns=False)
    found = verdict_on(plan, runs_of(plan, has_cycles=False))
    assert found.verdict == "slower"
    assert found.ratio is not None
    assert found.ratio.median == pytest.approx(1.2, rel=1e-3)


def test_the_figure_itself_stays_that_of_the_samples() -> None:
    plan = two_ways()
    of_both = [summary.figures[TIME] for summary in result_of(plan, runs_of(plan)).summaries]
    medians_us = [None if figure is None else figure.median for figure in of_both]
    assert medians_us == pytest.approx([400, 480], rel=1e-3)


def test_a_round_in_which_one_of_them_failed_has_no_ratio() -> None:
    plan = two_ways()
    first, *others = runs_of(plan)
    found = verdict_on(plan, [failed(first), *others])
    assert found.ratio is not None
    assert found.ratio.median == pytest.approx(0.9)
    fewer = verdict_on(plan, [failed(first), failed(others[1]), *others[:1], *others[2:]])
    assert (fewer.verdict, fewer.doubt) == ("cannot_say", "few_rounds")


def test_all_cases_of_a_link_take_turns() -> None:
    ways = {"setup_writes": [1, 2], "sizes_bytes": [1, 10], "round_trips": [0, 1]}
    cases = two_ways(**ways).cases
    assert len(cases) == 12
    assert not any(map(is_alone, cases))
    assert len(set(map(turns_of, cases))) == 1
    assert turns_of(cases[0]) != turns_of(replace(cases[0], link="wifi"))
    assert all(map(is_alone, two_ways(**ways, takes_turns=False).cases))
