"""Latencies between two hosts, which two clocks took: shown where these know them well enough."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace
from tests.support.experiments import paced_run, plan_of, result_of, swept, way

from tinygram_bench.model.result import Figure, HostRun, Result, Summary, Verdict
from tinygram_bench.model.sweep import Limit
from tinygram_bench.report import answer_of, document_of
from tinygram_bench.report.charts.percentiles import percentile_charts
from tinygram_bench.report.charts.sweep import sweep_charts
from tinygram_bench.report.loads.hosts import part_tables
from tinygram_bench.report.numbers import interval_of, median_of
from tinygram_bench.statistics.figures.samples import samples_of
from tinygram_bench.statistics.one_way import INSTEAD, is_known, warnings_of
from tinygram_bench.statistics.sweeps.curves import curves_of
from tinygram_bench.statistics.sweeps.limits import met_at
from tinygram_bench.statistics.verdicts.clocks import with_clocks
from tinygram_bench.workloads.warnings import with_bound

ALONE = [way(name, 1_000) for name in ("loop/nodelay", "loop/cork")]
CASES = [replace(case, parameters=replace(case.parameters, slice_ns=20_000_000)) for case in ALONE]
LATENCY_US = 100
P50, P99 = "latency_p50_us", "latency_p99_us"


def measured(
    bound_us: float | None,
    round_trip_us: float = 30,
    *,
    ratio: float = 1.1,
    are_alone: bool = False,
) -> Result:
    """Two cases of 100 µs and `ratio` times that, with this bound; None: on one host."""
    cases = ALONE if are_alone else CASES
    runs = []
    for number in range(6):
        for case, factor in zip(cases, (1.0, ratio), strict=True):
            run = paced_run(case, number, LATENCY_US * factor, 2_000)
            if not are_alone:
                in_slices = dict.fromkeys((P50, P99), (LATENCY_US * factor,) * 3)
                run = replace(run, slices=in_slices)
            if bound_us is not None:
                counters = {
                    "clock_bound_ns": round(bound_us * 1_000),
                    "clock_round_trip_ns": round(round_trip_us * 1_000),
                }
                run = replace(run, counters=run.counters | counters)
            runs.append(run)
    return result_of(plan_of(cases, runs), runs)


def verdict_of(result: Result) -> Verdict:
    """How the second case's median latency compares with the first one's."""
    first, second = (case.case_id for case in result.plan.cases)
    key = (first, second, P50)
    (found,) = {
        each
        for each in result.verdicts
        if (each.baseline_case_id, each.case_id, each.figure) == key
    }
    return found


def with_slices(result: Result, *times_us: tuple[float, ...]) -> Result:
    """The result with these median latencies, a case's slices in every round."""
    of_case = {case.case_id: each for case, each in zip(result.plan.cases, times_us, strict=True)}
    runs = [replace(run, slices={**run.slices, P50: of_case[run.case_id]}) for run in result.runs]
    return result_of(result.plan, runs)


def swept_between(bound_us: float, limit_us: float) -> Result:
    """A sweep over 1,000/s, 10,000/s and 100,000/s, with latencies of 10, 20 and 30 µs."""
    made = swept(("loop/nodelay",), (1e3, 1e4, 1e5), 7)
    clocks = {"clock_bound_ns": round(bound_us * 1_000), "clock_round_trip_ns": 30_000}
    runs = [replace(run, counters=run.counters | clocks) for run in made.runs]
    assert made.plan.sweep is not None
    sweep = replace(made.plan.sweep, limit=Limit("latency_p99_us", limit_us))
    return result_of(replace(made.plan, sweep=sweep), runs)


def part(host: str, bound_us: float) -> HostRun:
    """A generator's part with latencies of 100, 200 and 900 µs."""
    return HostRun(
        host=host,
        server="server",
        connections=1,
        rate_per_s=1_000.0,
        messages=2_000,
        throughput_per_s=None,
        latency_p50_us=100.0,
        latency_p99_us=200.0,
        latency_max_us=900.0,
        clock_bound_ns=round(bound_us * 1_000),
        step_error_ns=0,
        late_start_ns=0,
    )


def codes(summary: Summary) -> set[str]:
    return {warning.code for warning in summary.warnings}


def test_a_latency_that_the_clocks_know_within_a_fifth_is_shown() -> None:
    first = measured(19.9).summaries[0]
    assert is_known(first.figures, P50)
    assert "half_round_trip" not in codes(first)
    assert median_of(first, P50).startswith("100")


def test_half_the_round_trip_is_shown_in_place_of_one_that_they_do_not_know() -> None:
    result = measured(21)
    first = result.summaries[0]
    assert median_of(first, P50) == "15.0 rtt/2"
    assert interval_of(first, P50) == "–"
    assert "half_round_trip" in codes(first)
    (warning,) = (each for each in first.warnings if each.code == "half_round_trip")
    assert "15.0 µs, is shown (rtt/2) in place of" in warning.message
    assert "median latency" in warning.message
    text = str(document_of(result, published=False))
    assert "15.0 rtt/2" in text


def test_nothing_is_shown_in_place_of_what_has_more_than_a_way_in_it() -> None:
    first = measured(21).summaries[0]
    figures = {name: found for name, found in first.figures.items() if name != INSTEAD}
    first = replace(first, figures=figures)
    assert median_of(first, P50) == "–"
    (warning,) = warnings_of(figures)
    assert warning.message.startswith("in place of")
    assert "nothing is shown" in warning.message


def test_ways_that_took_turns_are_compared_by_what_was_measured_nevertheless() -> None:
    known, unknown = measured(1), measured(50)
    assert [each.verdict for each in known.verdicts] == [each.verdict for each in unknown.verdicts]
    assert verdict_of(unknown).verdict == "slower"
    assert unknown.summaries[0].figures[P50] == known.summaries[0].figures[P50]


@pytest.mark.parametrize("ratio", [0.8, 1.1])
@pytest.mark.parametrize("bound_us", [5.0, 50.0, 500.0])
def test_their_ratio_is_known_no_better_than_the_clocks_are_and_does_not_come_to_1(
    ratio: float, bound_us: float
) -> None:
    found = verdict_of(measured(bound_us, ratio=ratio)).ratio
    exact = verdict_of(measured(None, ratio=ratio)).ratio
    assert found is not None
    assert exact is not None
    assert found.median == exact.median
    assert found.high < 1 if ratio < 1 else found.low > 1
    # Both may be too short, or too long, by as much, as far as they have that much.
    for error_us in (-bound_us, bound_us):
        if LATENCY_US + error_us > 0 and LATENCY_US * ratio + error_us > 0:
            truth = (LATENCY_US * ratio + error_us) / (LATENCY_US + error_us)
            assert found.low <= truth * 1.01
            assert truth * 0.99 <= found.high
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found


@pytest.mark.parametrize(("bound_us", "shown"), [(4.0, "slower"), (6.0, "cannot_say")])
def test_ways_that_ran_alone_are_told_apart_by_more_than_both_clocks_may_be_wrong_by(
    bound_us: float, shown: str
) -> None:
    found = verdict_of(measured(bound_us, are_alone=True))
    assert found.verdict == shown
    assert (found.doubt == "clocks_differ") == (shown == "cannot_say")
    if found.reason is not None:
        assert "may be wrong by 6.0 µs in the median latency of loop/cork" in found.reason
        assert "have them take turns" in found.reason


@pytest.mark.parametrize(
    ("of_nodelay", "of_cork"),
    [
        # What the clocks took for nothing is the fastest of what came: the others are slower.
        ((100.0, 100.0, 100.0, 100.0, 100.0), (0.0, 0.0, 110.0, 110.0, 110.0)),
        ((0.0, 100.0, 100.0, 100.0, 100.0), (110.0, 110.0, 110.0, 110.0, 110.0)),
        ((100.0, 0.0, 100.0, 100.0, 0.0), (110.0, 0.0, 110.0, 110.0, 0.0)),
        ((0.0, 0.0, 0.0, 0.0, 0.0), (110.0, 110.0, 110.0, 110.0, 110.0)),
        ((0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_ways_whose_slices_the_clocks_take_for_nothing_cannot_be_compared(
    of_nodelay: tuple[float, ...], of_cork: tuple[float, ...]
) -> None:
    """To leave such slices out would be to choose by the outcome."""
    result = measured(30.0)
    found = verdict_of(with_slices(result, of_nodelay, of_cork))
    assert (found.verdict, found.doubt) == ("cannot_say", "clocks_differ")
    assert found.reason is not None
    way, zeros = ("loop/nodelay", of_nodelay) if 0 in of_nodelay else ("loop/cork", of_cork)
    count = 6 * zeros.count(0)
    assert f"{count} of 30 values of the median latency of {way} count as 0" in found.reason
    assert "the clocks of the two hosts may be wrong by 30.0 µs" in found.reason
    above = (max(of_nodelay) or 1.0,) * 5, (max(of_cork) or 1.0,) * 5
    assert verdict_of(with_slices(result, *above)).verdict != "cannot_say"


def test_a_round_that_the_clocks_take_for_nothing_cannot_be_compared_either() -> None:
    result = measured(4.0, are_alone=True)
    early = paced_run(ALONE[0], 2, 0, 2_000)
    runs = [
        replace(run, histograms=early.histograms)
        if (run.case_id, run.round) == (early.case_id, early.round)
        else run
        for run in result.runs
    ]
    # Seven rounds, so that six are left without it.
    last = [replace(run, round=6) for run in result.runs if run.round == 0]
    runs += last
    found = verdict_of(result_of(plan_of(ALONE, runs), runs))
    assert (found.verdict, found.doubt) == ("cannot_say", "clocks_differ")
    assert found.reason is not None
    assert "1 of 7 values of the median latency of loop/nodelay count as 0" in found.reason
    assert verdict_of(result_of(plan_of(ALONE, last), [*result.runs, *last])).verdict == "slower"


def test_what_one_clock_took_is_compared_where_times_of_two_count_as_0() -> None:
    result = with_slices(measured(30.0), (0.0, 100.0), (110.0, 110.0))
    doubts = {each.figure: each.doubt for each in result.verdicts}
    assert doubts[P50] == "clocks_differ"
    assert "clocks_differ" not in {doubts["latency_p99_us"], doubts["cpu_s_per_million"]}


@pytest.mark.parametrize("are_alone", [False, True])
def test_times_of_nothing_between_two_hosts_show_nothing(are_alone: bool) -> None:
    """A clock that is wrong by all of a time has a message arrive when it was due."""
    found = measured(5.0, are_alone=are_alone)
    summaries = tuple(
        replace(each, figures={**each.figures, P50: Figure(us, us, us)})
        for each, us in zip(found.summaries, (0.0, LATENCY_US), strict=True)
    )
    first, second = samples_of(found.plan, found.runs).values()
    faster = Figure(0.5, 0.4, 0.6)
    ratio = with_clocks(P50, (summaries[0], summaries[1]), (first, second), faster)
    assert ratio.low <= 1 <= ratio.high


def test_ways_that_ran_alone_on_one_host_are_compared_as_ever() -> None:
    assert verdict_of(measured(None, are_alone=True)).verdict == "slower"


def test_the_bound_of_a_summary_is_the_most_of_all_rounds() -> None:
    result = measured(1)
    runs = [
        replace(run, counters=run.counters | {"clock_bound_ns": 9_000 if run.round == 3 else 1_000})
        for run in result.runs * 2
    ]
    many = [replace(run, round=at) for at, run in enumerate(runs) if run.case_id == runs[0].case_id]
    bound = result_of(plan_of(CASES[:1], many), many).summaries[0].figures["clock_bound_us"]
    assert bound is not None
    assert (bound.median, bound.low, bound.high) == (1.0, 1.0, 9.0)


def test_a_time_in_a_queue_is_of_two_clocks_too_and_has_nothing_in_its_place() -> None:
    first = measured(50).summaries[0]
    figures = {**first.figures, "queueing_p50_us": first.figures[P50]}
    first = replace(first, figures=figures)
    assert median_of(first, "queueing_p50_us") == "–"
    (warning,) = warnings_of(figures)
    assert "is shown (rtt/2) in place of" in warning.message
    assert "in place of median queueing time nothing is shown" in warning.message


@pytest.mark.parametrize(("bound_us", "sign"), [(1.0, 1), (1.9, 1), (2.1, 0)])
def test_a_limit_is_kept_to_only_by_more_than_the_clocks_may_be_wrong_by(
    bound_us: float, sign: int
) -> None:
    result = swept_between(bound_us, 22)
    assert result.plan.sweep is not None
    assert result.plan.sweep.limit is not None
    (curve,) = curves_of(result.plan, result.runs).curves
    # 20 µs, and a limit of 22 µs.
    assert met_at(curve, result.plan.sweep.limit)[1] == sign
    assert met_at(curve, Limit("latency_p99_us", 18))[1] == (-1 if sign else 0)


def test_a_curve_has_no_times_that_the_clocks_do_not_know() -> None:
    assert list(percentile_charts(measured(1)))
    assert not list(percentile_charts(measured(50)))


def test_the_table_of_a_sweep_has_half_the_round_trip_in_their_place() -> None:
    table = document_of(swept_between(3, 100), published=False).sections[0].tables[0]
    first, *others = (row.cells[1] for row in table.rows)
    assert first == "15.0 rtt/2"
    assert [each[:2] for each in others] == ["20", "30"]
    assert not any("rtt/2" in each for each in others)
    (note,) = (each for each in table.notes if each.startswith("rtt/2"))
    assert "may be wrong by 3.0 µs, more than a fifth of the p99 latency" in note
    known = document_of(swept_between(1, 100), published=False).sections[0].tables[0]
    assert not any(each.startswith("rtt/2") for each in known.notes)


def test_a_limit_is_not_surely_kept_to_above_a_point_that_they_do_not_know() -> None:
    (kept, *_, doubts) = answer_of(swept_between(3, 100))
    assert "loop/nodelay sustains every rate up to 100,000/s" in kept
    assert "surely up to below 1,000/s" in kept
    assert doubts.startswith("In doubt are 1 of these 3 figures: the clocks of the two hosts may")
    (kept, *_) = answer_of(swept_between(1, 100))
    assert "surely up to" not in kept


@pytest.mark.parametrize("limit_us", [5, 100])
def test_nothing_is_said_of_a_limit_where_they_know_no_latency(limit_us: float) -> None:
    (kept, *_, doubts) = answer_of(swept_between(10, limit_us))
    assert "loop/nodelay is not timed well enough by the clocks of the two hosts to tell" in kept
    assert doubts.startswith("In doubt are 3 of these 3 figures")


def test_the_chart_of_a_sweep_has_no_points_that_they_do_not_know() -> None:
    result = swept_between(3, 100)
    assert result.plan.sweep is not None
    sweep = replace(result.plan.sweep, parameter="hold")
    (chart,) = sweep_charts(replace(result, plan=replace(result.plan, sweep=sweep)))
    assert [row["value"] for row in chart.rows] == [10, 100]


def test_a_host_of_a_cluster_has_no_latency_that_its_clocks_do_not_know() -> None:
    def shown(*bounds_us: float) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
        parts = tuple(part(f"host {bound_us}", bound_us) for bound_us in bounds_us)
        run = replace(paced_run(CASES[0], 0, LATENCY_US), hosts=parts)
        (table,) = part_tables(replace(measured(None), runs=(run,)), {CASES[0].case_id: "nodelay"})
        return [row.cells[-4:-1] for row in table.rows], table.notes

    cells, (note,) = shown(19, 30)
    assert cells == [("100", "200", "900"), ("–", "200", "900")]
    assert "more than a fifth" in note
    assert shown(19) == ([("100", "200", "900")], ())


def test_the_warning_says_by_how_much_times_may_be_wrong_and_what_cannot_be_known() -> None:
    run = with_bound(paced_run(CASES[0], 0, LATENCY_US, 2_000), 21_500, 40_000)
    (warning,) = (each for each in run.warnings if each.code == "clock_bound")
    assert "may be wrong by 21.5 µs: half of a round trip of 40.0 µs" in warning.message
    assert "nobody can see whether the way there or back takes longer" in warning.message


def test_on_one_host_there_is_no_bound() -> None:
    first = measured(None).summaries[0]
    assert "clock_bound_us" not in first.figures
    assert is_known(first.figures, P50)
