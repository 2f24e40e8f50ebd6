"""Verdicts: paired by round, given only where they can be, and the same from either side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.experiments import (
    deterministic,
    failed,
    flat_out,
    paced,
    paced_run,
    plan_of,
    result_of,
    warned,
    way,
    with_pacing_error,
)

from tinygram_bench.model.result import Plan, Result, Run, Verdict, Warning
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.verdicts.comparison import judge, paired_ratios
from tinygram_bench.statistics.verdicts.contests import contests_of

BASE = [100e3, 101e3, 99e3, 102e3, 98e3, 100e3, 101e3]
OPPOSITE = {"faster": "slower", "slower": "faster", "no_difference_shown": "no_difference_shown"}
ratios = st.lists(st.floats(0.01, 100), min_size=6, max_size=15)


def verdict(
    experiment: tuple[Plan, Sequence[Run]], baseline: str, case: str, figure: str
) -> Verdict:
    result = result_of(*experiment)
    texts = {each.case_id: each.case_id.split(" ")[0] for each in result.plan.cases}
    (found,) = (
        each
        for each in result.verdicts
        if (texts[each.baseline_case_id], texts[each.case_id], each.figure)
        == (baseline, case, figure)
    )
    return found


def against_loop(values: Sequence[float]) -> Verdict:
    experiment = flat_out({"loop/nodelay": BASE, "loop/cork": values})
    return verdict(experiment, "loop/nodelay", "loop/cork", "throughput_per_s")


def test_more_messages_per_second_in_every_round_is_faster() -> None:
    found = against_loop([value * 1.5 for value in BASE])
    assert (found.verdict, found.reason) == ("faster", None)
    assert found.ratio is not None
    assert found.ratio.median == pytest.approx(1.5, rel=1e-4)


def test_fewer_are_slower_and_some_of_each_show_no_difference() -> None:
    assert against_loop([value * 0.9 for value in BASE]).verdict == "slower"
    assert against_loop([*(v * 1.1 for v in BASE[:6]), BASE[6] * 0.99]).verdict == (
        "no_difference_shown"
    )


def test_rounds_are_paired_so_that_drift_cancels_out() -> None:
    drift = [1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3]
    slow = [100e3 * each for each in drift]
    fast = [102e3 * each for each in drift]
    experiment = flat_out({"loop/nodelay": slow, "loop/cork": fast})
    found = verdict(experiment, "loop/nodelay", "loop/cork", "throughput_per_s")
    assert found.verdict == "faster"
    assert max(slow) > min(fast)


def test_less_latency_is_faster() -> None:
    experiment = paced({"loop/nodelay": [40, 41, 42] * 2, "loop/cork": [30, 31, 32] * 2})
    for figure in ("latency_p50_us", "latency_p99_us"):
        assert verdict(experiment, "loop/nodelay", "loop/cork", figure).verdict == "faster"


@deterministic
@given(ratios)
@pytest.mark.parametrize("figure", ["throughput_per_s", "latency_p50_us"])
def test_the_reverse_comparison_has_the_opposite_verdict(figure: str, sample: list[float]) -> None:
    baseline = dict(enumerate([1.0] * len(sample)))
    case = dict(enumerate(sample))
    forwards = judge(figure_of(paired_ratios(baseline, case)), figure)
    backwards = judge(figure_of(paired_ratios(case, baseline)), figure)
    assert backwards == OPPOSITE[forwards]


@deterministic
@given(
    st.dictionaries(st.integers(0, 9), st.floats(0, 9)),
    st.dictionaries(st.integers(0, 9), st.floats(0, 9)),
)
def test_only_rounds_that_both_have_are_paired(
    baseline: Mapping[int, float], case: Mapping[int, float]
) -> None:
    both = [number for number in case if baseline.get(number)]
    assert paired_ratios(baseline, case) == tuple(case[at] / baseline[at] for at in both)


@pytest.mark.parametrize(("rounds", "expected"), [(5, "cannot_say"), (6, "faster")])
def test_fewer_than_six_rounds_cannot_say(rounds: int, expected: str) -> None:
    experiment = flat_out(
        {"loop/nodelay": BASE[:rounds], "loop/cork": [value * 2 for value in BASE[:rounds]]}
    )
    found = verdict(experiment, "loop/nodelay", "loop/cork", "throughput_per_s")
    assert found.verdict == expected
    assert (found.reason is None) == (expected == "faster")


def test_rounds_that_failed_on_either_side_are_no_pairs() -> None:
    plan, runs = flat_out({"loop/nodelay": BASE, "loop/cork": [value * 2 for value in BASE]})
    broken = [failed(run) if at in (0, 13) else run for at, run in enumerate(runs)]
    found = verdict((plan, broken), "loop/nodelay", "loop/cork", "throughput_per_s")
    assert found.verdict == "cannot_say"
    assert found.reason == "5 rounds have both, and 6 are needed"
    assert found.ratio is not None


def test_a_case_without_a_good_round_has_no_ratio() -> None:
    plan, runs = flat_out({"loop/nodelay": BASE, "loop/cork": BASE})
    broken = [*runs[:7], *(failed(run) for run in runs[7:])]
    found = verdict((plan, broken), "loop/nodelay", "loop/cork", "throughput_per_s")
    assert (found.verdict, found.ratio) == ("cannot_say", None)
    assert found.reason == "loop/cork has no good round"


def test_two_modes_on_either_side_cannot_say() -> None:
    modes = [13.0, 51, 13, 51, 13, 51, 13]
    calm = [5.0] * 7
    for experiment in (
        {"loop/nodelay": modes, "loop/cork": calm},
        {"loop/nodelay": calm, "loop/cork": modes},
    ):
        found = verdict(paced(experiment), "loop/nodelay", "loop/cork", "latency_p50_us")
        assert found.verdict == "cannot_say"
        assert found.reason is not None
        assert "two modes" in found.reason


def test_a_warning_bars_the_figures_that_it_names_and_no_others() -> None:
    plan, runs = paced({"loop/nodelay": [40] * 7, "loop/cork": [30] * 7})
    behind = Warning("behind", "the sender fell behind", ("latency_",))
    marked = (plan, [warned(runs[0], behind), *runs[1:]])
    barred = verdict(marked, "loop/nodelay", "loop/cork", "latency_p50_us")
    assert barred.verdict == "cannot_say"
    assert barred.reason == "loop/nodelay: the sender fell behind (in 1 of 7 rounds)"
    free = verdict(marked, "loop/nodelay", "loop/cork", "cpu_s_per_million")
    assert free.verdict == "no_difference_shown"


@pytest.mark.parametrize("code", ["fell_behind", "other_measurement"])
@pytest.mark.parametrize(("rounds", "is_barred"), [(3, False), (4, True)])
def test_what_disturbs_some_rounds_bars_from_half_of_them_on(
    code: str, rounds: int, is_barred: bool
) -> None:
    """One hiccup at the end of a run left no verdict at all."""
    plan, runs = paced({"loop/nodelay": [40] * 7, "loop/cork": [30] * 7})
    disturbed = Warning(code, "disturbed", ("latency_",))
    marked = (plan, [*(warned(run, disturbed) for run in runs[:rounds]), *runs[rounds:]])
    found = verdict(marked, "loop/nodelay", "loop/cork", "latency_p50_us")
    assert (found.verdict, found.doubt) == (("cannot_say", code) if is_barred else ("faster", None))


def late_by(us: Mapping[str, float], latencies_us: Mapping[str, Sequence[float]]) -> Verdict:
    """cork against nodelay, whose messages the pacer released so late."""
    plan, runs = paced(latencies_us)
    late = [with_pacing_error(run, us[run.case_id.split(" ")[0]]) for run in runs]
    return verdict((plan, late), "loop/nodelay", "loop/cork", "latency_p50_us")


def test_a_pacer_that_is_later_for_one_of_them_decides_nothing() -> None:
    apart = {"loop/nodelay": [100.0] * 7, "loop/cork": [140.0] * 7}
    found = late_by({"loop/nodelay": 0.07, "loop/cork": 9.9}, apart)
    assert (found.verdict, found.doubt) == ("slower", None)
    found = late_by({"loop/nodelay": 0.07, "loop/cork": 12.07}, apart)
    assert (found.verdict, found.doubt) == ("cannot_say", "pacing_differs")
    assert found.reason == (
        "the bench handed loop/cork its messages 12 µs later than loop/nodelay, which is over a "
        "quarter of the difference in latency"
    )
    found = late_by({"loop/nodelay": 12.07, "loop/cork": 12.07}, apart)
    assert (found.verdict, found.doubt) == ("slower", None)


def test_a_pacer_may_hide_a_difference_too() -> None:
    alike = {"loop/nodelay": [100.0] * 7, "loop/cork": [98.0, 99, 100, 100, 100, 101, 102]}
    found = late_by({"loop/nodelay": 0.06, "loop/cork": 0.07}, alike)
    assert found.verdict == "no_difference_shown"
    found = late_by({"loop/nodelay": 0.07, "loop/cork": 20}, alike)
    assert (found.verdict, found.doubt) == ("cannot_say", "pacing_differs")


def test_a_percentile_without_enough_samples_cannot_say() -> None:
    cases = [way("loop/nodelay", 1_000), way("loop/cork", 1_000)]
    runs = [paced_run(case, number, 40, samples=10) for case in cases for number in range(7)]
    found = verdict((plan_of(cases, runs), runs), "loop/nodelay", "loop/cork", "latency_p99_us")
    assert (found.verdict, found.ratio) == ("cannot_say", None)
    assert found.reason is not None
    assert "too few samples" in found.reason


def _pairs(result: Result) -> set[tuple[str, str]]:
    return {
        (each.baseline_case_id.split(" ")[0], each.case_id.split(" ")[0])
        for each in result.verdicts
    }


def test_who_is_compared_with_whom() -> None:
    times = {"loop/nodelay": 1.0, "loop/cork": 3.0, "loop/more": 2.0, "loop/nagle": 0.9}
    times |= {"asyncio/nodelay": 0.5, "asyncio/nagle": 0.4, "asyncio/tinygram/adaptive": 4.0}
    times |= {"native/nodelay": 9.0}
    result = result_of(
        *flat_out({text: [value * each for value in BASE] for text, each in times.items()})
    )
    own_nodelay = {("loop/nodelay", f"loop/{each}") for each in ("cork", "more", "nagle")}
    own_nodelay |= {("asyncio/nodelay", "asyncio/nagle")}
    base = {("loop/nodelay", text) for text in times if text.startswith("asyncio")}
    first = {(f"loop/{each}", "loop/cork") for each in ("nodelay", "more", "nagle")}
    first |= {(f"asyncio/{each}", "asyncio/tinygram/adaptive") for each in ("nodelay", "nagle")}
    assert _pairs(result) == own_nodelay | base | first
    keys = [(each.baseline_case_id, each.case_id, each.figure) for each in result.verdicts]
    assert len(keys) == len(set(keys))


def test_loads_are_kept_apart() -> None:
    cases = [way("loop/nodelay", rate) for rate in (1_000, 10_000)]
    cases += [way("loop/cork", rate) for rate in (1_000, 10_000)]
    runs = [paced_run(case, number, 40) for case in cases for number in range(7)]
    result = result_of(plan_of(cases, runs), runs)
    for each in result.verdicts:
        assert each.baseline_case_id.split(" ")[1] == each.case_id.split(" ")[1]
    assert len(result.verdicts) >= 6


def test_the_best_median_comes_first_and_the_limits_do_not_compete() -> None:
    result = result_of(
        *flat_out({"loop/nagle": BASE, "loop/cork": [2e5] * 7, "native/nodelay": [9e6] * 7})
    )
    (contest,) = contests_of(result.summaries)
    assert [case.strategy for case in contest.ranked] == ["cork", "nagle"]
    (contest,) = contests_of(result_of(*paced({"loop/a": [9] * 7, "loop/b": [8] * 7})).summaries)
    assert [case.strategy for case in contest.ranked] == ["b", "a"]
