"""Two modes in a ratio: which case is faster is shown where both lie on one side of 1, and no size.

The rounds' ratios may have two modes, or the cycles of a round may be of two kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.support.experiments import (
    deterministic,
    flat_out_in_slices,
    histogram,
    paced_run,
    plan_of,
    result_of,
    way,
)

from tinygram_bench.model.result import Run, Verdict
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.figures.modes import find_modes
from tinygram_bench.statistics.verdicts.comparison import judge
from tinygram_bench.statistics.verdicts.contests import verdicts_by_pair

ROUNDS = 6
LATENCY_US = 100.0
FIGURE = "latency_p50_us"
BASELINE, CASE = (
    replace(case, parameters=replace(case.parameters, slice_ns=20_000_000))
    for case in (way("loop/nodelay", 1_000), way("loop/cork", 1_000))
)


def runs_of(cycles: Sequence[Sequence[float]], late_us: float = 0.0) -> list[Run]:
    """Runs of both cases, from the latency ratio case ÷ baseline of each cycle of each round.

    `late_us`: how late the link was for the case's messages alone.
    """
    runs = []
    for number, ratios in enumerate(cycles):
        for case, factors, link_us in (
            (BASELINE, [1.0] * len(ratios), 0.0),
            (CASE, ratios, late_us),
        ):
            run = paced_run(case, number, LATENCY_US * median(factors), 40)
            late = {"link_lateness_ns": histogram([round(link_us * 1_000)] * 40)}
            slices = {FIGURE: tuple(LATENCY_US * each for each in factors)}
            runs.append(replace(run, histograms={**run.histograms, **late}, slices=slices))
    return runs


def of_cycles(cycles: Sequence[Sequence[float]], late_us: float = 0.0) -> Verdict:
    runs = runs_of(cycles, late_us)
    result = result_of(plan_of([BASELINE, CASE], runs), runs)
    key = BASELINE.case_id, CASE.case_id, FIGURE
    return verdicts_by_pair(result)[key]


def of_rounds(ratios: Sequence[float], late_us: float = 0.0) -> Verdict:
    """The verdict on rounds whose cycles are all alike."""
    return of_cycles([[ratio] * 3 for ratio in ratios], late_us)


def span(found: Verdict) -> tuple[float, float]:
    assert found.ratio is not None
    return found.ratio.low, found.ratio.high


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([0.5, 0.9] * 3, "faster"),
        ([7.7, 11.4] * 3, "slower"),
        ([0.8, 1.25] * 3, "cannot_say"),
        # All of a mode must be on the side.
        ([0.98, 1.02, *[3.0] * 10], "cannot_say"),
        # The interval of the median leaves out two of twelve rounds at either end.
        ([1.5, 1.6, *[3.0] * 10], "slower"),
        ([0.98, 0.99, *[3.0] * 10], "cannot_say"),
    ],
)
def test_modes_on_one_side_of_1_show_a_direction_and_no_size(
    ratios: Sequence[float], verdict: str
) -> None:
    found = of_rounds(ratios)
    assert (found.verdict, found.doubt) == (verdict, "two_modes")
    assert found.has_no_size == (verdict != "cannot_say")
    assert span(found) == pytest.approx((min(ratios), max(ratios)))
    assert found.reason is not None
    assert found.reason.startswith("two modes in loop/cork ÷ loop/nodelay: near ")


def test_the_modes_are_told_with_how_often_each_came_up() -> None:
    assert of_rounds([0.5, 0.9] * 3).reason == (
        "two modes in loop/cork ÷ loop/nodelay: near 0.5 in 3 rounds, near 0.9 in 3 rounds"
    )


def kinds(low: float, high: float) -> list[float]:
    return [low] * 26 + [high] * 14


@pytest.mark.parametrize(
    ("cycles", "verdict", "held"),
    [
        ([kinds(1.9, 3.6)] * 6, "slower", (1.9, 3.6)),
        ([kinds(0.3, 0.9)] * 6, "faster", (0.3, 0.9)),
        # Most cycles decide no median here: it lies between those that are faster and slower.
        ([kinds(0.9, 3.6)] * 6, "cannot_say", (0.9, 3.6)),
        ([kinds(0.9, 3.6)] * 3 + [[0.9] * 40] * 3, "cannot_say", (0.9, 3.6)),
        # Another round is on the other side, and so is a kind whose rounds are on one.
        ([kinds(1.9, 3.6)] * 5 + [[0.9] * 40], "cannot_say", (0.9, 3.6)),
        ([kinds(2.0, 0.5), kinds(4.0, 0.5)] * 3, "cannot_say", (0.5, 4.0)),
    ],
    ids=["slower", "faster", "either", "half of the rounds", "a round", "a kind of two modes"],
)
def test_both_kinds_of_cycles_and_all_rounds_must_be_on_one_side(
    cycles: Sequence[Sequence[float]], verdict: str, held: tuple[float, float]
) -> None:
    found = of_cycles(cycles)
    assert (found.verdict, found.doubt) == (verdict, "two_modes")
    assert span(found) == pytest.approx(held)


def test_kinds_are_told_by_a_round_that_has_them() -> None:
    assert of_cycles([kinds(0.9, 3.6)] * 6).reason == (
        "two modes in loop/cork ÷ loop/nodelay: near 0.9 in 26 cycles of a round, near 3.6 in "
        "14 cycles of a round"
    )


def test_kinds_in_fewer_than_half_of_the_rounds_are_no_doubt() -> None:
    found = of_cycles([kinds(0.9, 3.6)] * 2 + [[0.9] * 40] * 4)
    assert (found.verdict, found.doubt) == ("faster", None)


def test_a_few_slices_that_something_stopped_are_no_kind() -> None:
    stopped = [0.9] * 34 + [20.0 * 1.6**each for each in range(6)]
    found = of_cycles([stopped] * ROUNDS)
    assert (found.verdict, found.doubt) == ("faster", None)


@pytest.mark.parametrize(
    ("nearer", "verdict", "doubt"),
    [(1.1, "cannot_say", "lateness_differs"), (2.0, "slower", "two_modes")],
)
def test_what_the_bench_adds_must_not_explain_the_mode_that_is_nearer_to_1(
    nearer: float, verdict: str, doubt: str
) -> None:
    """Four µs are over a quarter of the ten by which one mode differs, and little of the median."""
    found = of_rounds([nearer, 6.0] * 3, late_us=4.0)
    assert (found.verdict, found.doubt) == (verdict, doubt)


@deterministic
@given(st.lists(st.sampled_from([0.5, 0.52, 0.9, 1.1, 1.5, 1.55, 4.0]), min_size=6, max_size=14))
def test_no_direction_is_shown_that_the_interval_of_the_rounds_does_not_show(
    ratios: list[float],
) -> None:
    """Without modes this interval alone decides, so false verdicts are no more than it allows."""
    shown = judge(figure_of(ratios), FIGURE)
    found = of_rounds(ratios)
    if find_modes(ratios) is None:
        assert found.verdict == shown
    else:
        is_on_one_side = len({ratio > 1 for ratio in ratios}) == 1
        assert found.verdict == (shown if is_on_one_side else "cannot_say")


@pytest.mark.parametrize(
    ("empty", "verdict"), [(0, "faster"), (12, "cannot_say")], ids=["never", "in a third"]
)
def test_a_third_kind_of_cycles_in_which_nothing_came_bars_the_direction(
    empty: int, verdict: str
) -> None:
    plan, runs = flat_out_in_slices({"loop/nodelay": [1.0] * 6, "loop/cork": [2.0, 4.0] * 3})
    cycles: dict[str, tuple[float, ...]] = {plan.cases[0].case_id: (1e5,) * 36}
    cycles[plan.cases[1].case_id] = (0.0,) * empty + (2e5,) * 12 + (4e5,) * (24 - empty)
    of_kinds = [replace(run, slices={"throughput_per_s": cycles[run.case_id]}) for run in runs]
    key = plan.cases[0].case_id, plan.cases[1].case_id, "throughput_per_s"
    found = verdicts_by_pair(result_of(plan, of_kinds))[key]
    assert (found.verdict, found.doubt) == (verdict, "two_modes")
