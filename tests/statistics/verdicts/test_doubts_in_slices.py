"""Cases that took turns: what the host did met both, so their ratio is what is judged."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.links.workloads.facts import facts
from tests.support.experiments import histogram, paced_run, plan_of, result_of, way

from tinygram_bench.model.result import Figure, Run, Verdict, Warning
from tinygram_bench.statistics.figures.samples import samples_of
from tinygram_bench.statistics.summary import summarise
from tinygram_bench.statistics.verdicts.comparison import round_ratios
from tinygram_bench.statistics.verdicts.comparison import verdict_on as compared
from tinygram_bench.statistics.verdicts.doubts import doubt_on
from tinygram_bench.statistics.workloads.loads import Load

ROUNDS = 6
BASELINE, CASE = (
    replace(case, parameters=replace(case.parameters, slice_ns=20_000_000))
    for case in (way("loop/nodelay", 1_000), way("loop/cork", 1_000))
)
LATE = Warning("link_late", "the link was late", ("",))


def rounds_of(
    latencies_us: Sequence[float],
    ratio: float = 1.0,
    *,
    pacing_us: Sequence[float] = (0, 0),
    link_us: Sequence[float] = (0, 0),
    has_slices: bool = True,
    samples: int = 200,
) -> list[Run]:
    """Runs of both cases. `ratio`: of the case's latency to the baseline's, which are given."""
    runs = []
    for number, latency_us in enumerate(latencies_us):
        for case, factor, late_us, link_late_us in zip(
            (BASELINE, CASE), (1.0, ratio), pacing_us, link_us, strict=True
        ):
            run = paced_run(case, number, latency_us * factor, samples)
            histograms = {
                **run.histograms,
                "pacing_error_ns": histogram([round(late_us * 1_000)] * 200),
                "link_lateness_ns": histogram([round(link_late_us * 1_000)] * 200),
            }
            slices = {"latency_p50_us": (latency_us * factor,) * 3} if has_slices else {}
            runs.append(replace(run, histograms=histograms, slices=slices, warnings=(LATE,)))
    return runs


def verdict_on(runs: Sequence[Run], figure: str = "latency_p50_us") -> Verdict:
    result = result_of(plan_of([BASELINE, CASE], runs), runs)
    (found,) = {each for each in result.verdicts if each.figure == figure}
    return found


def test_points_of_a_sweep_whose_slices_have_other_lengths_are_compared_round_by_round() -> None:
    longer = replace(CASE, parameters=replace(CASE.parameters, slice_ns=250_000_000))
    runs = [
        replace(run, slices={"latency_p50_us": (90.0,)}) if run.case_id == CASE.case_id else run
        for run in rounds_of([100] * ROUNDS, 0.9)
    ]
    plan = plan_of([BASELINE, longer], runs)
    samples, summaries = samples_of(plan, runs), summarise(plan, runs)
    pairs = [(each, samples[each.case.case_id]) for each in summaries]
    found = compared("latency_p50_us", pairs[0], pairs[1])
    assert found.ratio is not None
    assert found.ratio.median == pytest.approx(0.9, rel=0.01)


def test_the_share_of_slices_that_something_stopped_is_told_and_bars_nothing() -> None:
    runs = [
        replace(run, slices={**run.slices, "latency_max_us": (2_101.0, 150.0, 2_000.0)})
        for run in rounds_of([100] * ROUNDS, 0.9)
    ]
    result = result_of(plan_of([BASELINE, CASE], runs), runs)
    for summary in result.summaries:
        (told,) = [each for each in summary.warnings if each.code == "slices_stalled"]
        assert told.figures == ()
        assert told.message.startswith("in 33% of its slices a message took over 2 ms longer")
    calm = rounds_of([100] * ROUNDS, 0.9)
    calm_result = result_of(plan_of([BASELINE, CASE], calm), calm)
    codes = {each.code for summary in calm_result.summaries for each in summary.warnings}
    assert codes == {"link_late"}


@pytest.mark.parametrize(
    ("rate_per_s", "is_over_link", "slice_ms", "has_remedy"),
    [
        (None, False, 20, True),
        (None, False, 3, False),
        (None, True, 20, False),
        (1_000.0, False, 20, False),
    ],
)
def test_shorter_slices_are_named_where_a_count_is_compared_that_stops_affect(
    rate_per_s: float | None, is_over_link: bool, slice_ms: int, has_remedy: bool
) -> None:
    case = replace(
        CASE,
        rate_per_s=rate_per_s,
        parameters=replace(CASE.parameters, slice_ns=slice_ms * 1_000_000),
    )
    runs = [
        replace(
            run,
            slices={**run.slices, "latency_max_us": (2_101.0, 150.0, 2_000.0)},
            link=facts() if is_over_link else None,
        )
        for run in rounds_of([100] * ROUNDS, 0.9)
        if run.case_id == CASE.case_id
    ]
    (summary,) = summarise(plan_of([case], runs), runs)
    (told,) = [each for each in summary.warnings if each.code == "slices_stalled"]
    assert told.message.endswith("are stopped: --slice 3ms") == has_remedy


@pytest.mark.parametrize(
    ("pacing_us", "link_us"), [((40, 40), (0, 0)), ((0, 0), (500, 500)), ((40, 42), (5, 3))]
)
def test_what_made_both_late_alike_is_no_doubt(
    pacing_us: tuple[float, float], link_us: tuple[float, float]
) -> None:
    runs = rounds_of([100] * ROUNDS, 0.9, pacing_us=pacing_us, link_us=link_us)
    assert verdict_on(runs).verdict == "faster"


def test_alone_it_is() -> None:
    late = verdict_on(rounds_of([100] * ROUNDS, 0.9, has_slices=False))
    assert (late.verdict, late.doubt) == ("cannot_say", "link_late")


@pytest.mark.parametrize(
    ("link_us", "later"), [((0, 4), "loop/cork was 4"), ((4, 0), "loop/nodelay was 4")]
)
def test_a_link_that_is_later_by_over_a_quarter_of_the_difference_is_a_doubt(
    link_us: tuple[float, float], later: str
) -> None:
    found = verdict_on(rounds_of([100] * ROUNDS, 0.9, link_us=link_us))
    assert (found.verdict, found.doubt) == ("cannot_say", "lateness_differs")
    assert found.reason is not None
    assert f"the link of {later}" in found.reason


@pytest.mark.parametrize(
    ("stopped", "doubt"),
    [
        (((3,) * 6, (3,) * 6), None),
        (((0,) * 6, (6,) * 6), "link_stops_differ"),
        (((6,) * 6, (0,) * 6), "link_stops_differ"),
        (((0,) * 6, (1,) * 6), None),
        (((2,) * 6, (9, 9, 9, 9, 9, 1)), None),
    ],
    ids=["alike", "the case's", "the baseline's", "hardly", "not in every round"],
)
def test_links_that_stood_still_in_unlike_shares_of_the_slices_are_a_doubt(
    stopped: tuple[tuple[int, ...], tuple[int, ...]], doubt: str | None
) -> None:
    assert verdict_on(of_stops(stopped, "latency_p50_us", 40)).doubt == doubt


def of_stops(stopped: Sequence[Sequence[int]], figure: str, values: int) -> list[Run]:
    """Runs of 40 slices, of which the link stood still in so many of each case and round.

    `values`: how many the figure has in each run: as many as slices, or as blocks of them.
    """
    runs = []
    for run in rounds_of([100] * ROUNDS, 0.9, samples=1_100):
        is_case = run.case_id == CASE.case_id
        of = stopped[is_case][run.round]
        slices = {
            figure: ((90.0 if is_case else 100.0),) * values,
            "link_stood_still_us": (9.0,) * of + (0.0,) * (40 - of),
        }
        runs.append(replace(run, slices=slices))
    return runs


@pytest.mark.parametrize(
    ("of_case", "values", "doubt"),
    [
        ((0,) * 6, 4, None),
        ((1,) * 6, 40, None),
        ((1,) * 6, 4, "link_stops_differ"),  # A slice in forty, and up to one block in four.
        ((1,) * 6, 3, "link_stops_differ"),  # Blocks of 13 slices, and one that fills no block.
        ((2, 1, 1, 1, 1, 0), 4, None),
    ],
    ids=["none", "of slices", "of blocks", "of longer blocks", "not in every round"],
)
def test_a_stop_in_one_slice_counts_for_all_of_its_block(
    of_case: tuple[int, ...], values: int, doubt: str | None
) -> None:
    runs = of_stops(((0,) * 6, of_case), "latency_p99_us", values)
    found = verdict_on(runs, "latency_p99_us")
    assert (found.doubt, found.verdict) == (doubt, "cannot_say" if doubt else "faster")


def test_a_stall_of_the_link_in_one_round_is_not_that_of_all() -> None:
    runs = rounds_of([100] * ROUNDS, 0.9)
    stalled = histogram([5_000_000] * 20_000)
    last = replace(runs[-1], histograms={**runs[-1].histograms, "link_lateness_ns": stalled})
    assert verdict_on([*runs[:-1], last]).verdict == "faster"


def test_a_pacer_that_is_later_by_over_a_quarter_of_the_difference_is_a_doubt() -> None:
    found = verdict_on(rounds_of([100] * ROUNDS, 0.9, pacing_us=(0, 4)))
    assert found.doubt == "pacing_differs"


def paced(error_us: Sequence[Sequence[float]], pooled_us: float = 0.0) -> list[Run]:
    """Runs in whose slices the pacers were so late; with all of the case's messages `pooled_us`."""
    return [
        replace(
            run,
            slices={
                "latency_p50_us": (90.0 if is_case else 100.0,) * 10,
                "pacing_error_p50_us": tuple(error_us[is_case]),
                "latency_p99_us": (100.0,) * 2,
                "pacing_error_p99_us": (1.0,) * 2,
            },
        )
        for run in rounds_of([100] * ROUNDS, 0.9, pacing_us=(0, pooled_us))
        for is_case in [run.case_id == CASE.case_id]
    ]


@pytest.mark.parametrize(
    ("of_case", "doubt"),
    [
        ([0.0] * 7 + [80.0] * 3, None),
        ([0.0] * 3 + [4.0] * 7, "pacing_differs"),
    ],
    ids=["a few slices", "most slices"],
)
def test_a_pacer_is_judged_by_its_slices_and_not_by_all_messages(
    of_case: Sequence[float], doubt: str | None
) -> None:
    # The median of all messages together is late where few slices are, and early where most are.
    runs = paced(([0.0] * 10, of_case), pooled_us=80.0 if doubt is None else 0.0)
    assert verdict_on(runs).doubt == doubt


@pytest.mark.parametrize(
    ("late", "code", "bars"),
    [(0, None, False), (3, "slices_pacing_late", False), (6, "pacing_error", True)],
)
def test_how_many_slices_had_a_late_pacer_is_told_and_bars_where_they_are_most(
    late: int, code: str | None, bars: bool
) -> None:
    errors = [80.0] * late + [1.0] * (10 - late)
    runs = paced((errors, errors), pooled_us=80.0)
    for summary in result_of(plan_of([BASELINE, CASE], runs), runs).summaries:
        told = [each for each in summary.warnings if "pac" in each.code]
        assert [each.code for each in told] == ([code] if code else [])
        assert [bool(each.figures) for each in told] == ([bars] if code else [])


def test_p99_9_is_compared_by_blocks_as_p99_is() -> None:
    runs = [
        replace(
            run,
            slices={
                "latency_p99_9_us": (400.0, 180.0 if run.case_id == CASE.case_id else 200.0, None)
            },
        )
        for run in rounds_of([100] * ROUNDS, 0.9, samples=10_000)
    ]
    found = verdict_on(runs, "latency_p99_9_us")
    assert found.ratio is not None
    assert found.verdict == "faster"
    assert found.ratio.median == pytest.approx(0.95)
    few = [replace(run, slices={"latency_p99_9_us": (), "late_us": (0.0,)}) for run in runs]
    assert verdict_on(few, "latency_p99_9_us").doubt == "too_few_messages"
    assert "latency_p99_9_us" not in Load.of(way("loop/nodelay", 1_000)).compared_figures


def test_two_modes_that_both_have_are_no_doubt() -> None:
    assert verdict_on(rounds_of([13, 51, 13, 51, 13, 51], 0.9)).verdict == "faster"


@pytest.mark.parametrize("of_slices", [(), (None, None, None), (0.0, -1.0, None)])
def test_a_figure_that_slices_have_too_few_messages_for_is_not_judged_by_runs_far_apart(
    of_slices: tuple[float | None, ...],
) -> None:
    runs = [
        replace(run, slices={"latency_p50_us": of_slices, "late_us": (0.0,) * 3})
        for run in rounds_of([100] * ROUNDS, 0.5)
    ]
    found = verdict_on(runs)
    assert (found.verdict, found.doubt, found.ratio) == ("cannot_say", "too_few_messages", None)
    alone = verdict_on(rounds_of([100] * ROUNDS, 0.5, has_slices=False))
    assert alone.ratio is not None


def test_the_stalled_share_is_a_figure_of_what_is_queued_too_and_of_no_lone_case() -> None:
    values = {"queueing_p50_us": (100.0,) * 4, "queueing_max_us": (2_101.0, 150.0, 2_000.0, None)}
    queued = [replace(run, slices=values) for run in rounds_of([100] * ROUNDS)]
    (share, _) = [
        each.figures["stalled_slices_share"]
        for each in result_of(plan_of([BASELINE, CASE], queued), queued).summaries
    ]
    assert share is not None
    assert share.median == pytest.approx(1 / 3)
    lone = rounds_of([100] * ROUNDS, has_slices=False)
    for summary in result_of(plan_of([BASELINE, CASE], lone), lone).summaries:
        assert "stalled_slices_share" not in summary.figures


def test_slices_without_time_or_with_less_are_left_out_of_a_ratio() -> None:
    runs = rounds_of([100] * ROUNDS, 0.5)
    spoilt = [
        replace(run, slices={"latency_p50_us": (-5.0, *run.slices["latency_p50_us"][1:])})
        if run.case_id == BASELINE.case_id
        else run
        for run in runs
    ]
    ratio = verdict_on(spoilt).ratio
    assert ratio is not None
    assert ratio.median == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("empty", "ratio", "doubt"), [(3, 1.5, None), (4, 1.5, None), (6, None, "nothing_came")]
)
def test_slices_in_which_nothing_came_are_in_the_ratio_of_what_came(
    empty: int, ratio: float | None, doubt: str | None
) -> None:
    figure = "throughput_per_s"
    of_baseline = (100.0,) * 5 + (50.0,) * 5
    of_case = (0.0,) * empty + (100.0,) * (10 - empty)
    runs = [
        replace(run, slices={figure: of_case if run.case_id == CASE.case_id else of_baseline})
        for run in rounds_of([100] * ROUNDS, 0.5)
    ]
    plan = plan_of([BASELINE, CASE], runs)
    samples = samples_of(plan, runs)
    baseline, case = samples[BASELINE.case_id], samples[CASE.case_id]
    ratios = round_ratios(baseline, case, figure)
    assert set(ratios) == (set() if ratio is None else {ratio})
    below, above = (
        replace(each, figures={figure: Figure(1, 1, 1)}) for each in summarise(plan, runs)
    )
    found = doubt_on(figure, (below, above), (baseline, case), ratios, None)
    assert (found and found.code) == doubt
