"""The timeline tells when the host was disturbed, and not what a way did by itself."""

from __future__ import annotations

import msgspec
from tests.report.page.test_charts import ROUNDS, chart, paced, values
from tests.support.experiments import flat_out, result_of
from tests.support.measured import rr as called
from tests.support.measured import sizes as timed
from tests.support.plans import sizes as sizes_plans

from tinygram_bench.model.result import Result, Run
from tinygram_bench.report.charts import charts_of
from tinygram_bench.report.charts.chart import Chart
from tinygram_bench.statistics.figures.counters import Counters
from tinygram_bench.statistics.workloads.loads import SLICE_LASTED
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr


def test_the_timeline_shows_when_the_host_was_disturbed_and_not_a_way() -> None:
    result = paced(1_000, ways=("loop/nodelay", "loop/nagle", "loop/cork"))
    usual = {"loop/nodelay 1000": 10.0, "loop/nagle 1000": 20.0, "loop/cork 1000": 30.0}

    def sliced(run: Run) -> Run:
        slices: list[float | None] = [usual[run.case_id]] * 4
        if run.round == 1:
            slices[2] = 5 * usual[run.case_id]
        if run.round == 3 and run.case_id == "loop/cork 1000":
            slices[0] = 9 * usual[run.case_id]
        return msgspec.structs.replace(run, slices={"latency_p50_us": tuple(slices)})

    timeline = chart(result_of(result.plan, [*map(sliced, result.runs)]), "timeline")
    assert len(timeline.rows) == 4 * ROUNDS
    disturbed = [row for row in timeline.rows if row["is_disturbed"] == "yes"]
    assert [(row["round"], row["position"], row["median"]) for row in disturbed] == [(2, 7, 5)]
    assert values(timeline, "round", "median", "low", "high")[12] == (4, 1, 1, 9)


def test_a_lower_rate_counts_as_slower() -> None:
    plan, runs = flat_out({"loop/nodelay": [100, 100], "loop/nagle": [200, 200]})
    sliced = [
        msgspec.structs.replace(run, slices={"throughput_per_s": (base, base, base / 4)})
        for run in runs
        for base in [100.0 if "nodelay" in run.case_id else 200.0]
    ]
    timeline = chart(result_of(plan, sliced), "timeline")
    assert values(timeline, "round", "median", "is_disturbed") == [
        *((1, 1, "no"), (1, 1, "no"), (1, 4, "yes")),
        *((2, 1, "no"), (2, 1, "no"), (2, 4, "yes")),
    ]


def test_of_two_ways_both_must_be_slow_for_the_host_to_be_disturbed() -> None:
    plan, runs = flat_out({"loop/nodelay": [100, 100], "loop/nagle": [200, 200]})
    sliced = [
        # Queueing is how long a queue is, and not looked at where there is a throughput.
        msgspec.structs.replace(
            run,
            slices={
                "queueing_p50_us": (1.0, 1.0, 9.0),
                "throughput_per_s": (base, base / (9 if is_first else 1), base),
            },
        )
        for run in runs
        for is_first in ["nodelay" in run.case_id]
        for base in [100.0 if is_first else 200.0]
    ]
    timeline = chart(result_of(plan, sliced), "timeline")
    assert [row["is_disturbed"] for row in timeline.rows] == ["no"] * 6
    assert values(timeline, "median", "high")[1] == (5, 9)
    assert "the time that a message took" in timeline.text


def test_a_disturbed_cycle_marks_its_block_which_is_of_one_round() -> None:
    result = paced(1_000)

    def sliced(run: Run) -> Run:
        slices: list[float | None] = [10.0] * 101
        if run.round == 2:
            slices[100] = 50.0
        return msgspec.structs.replace(run, slices={"latency_p50_us": tuple(slices)})

    timeline = chart(result_of(result.plan, [*map(sliced, result.runs)]), "timeline")
    assert "Each point is a block of 2 cycles of one round" in timeline.text
    assert [(row["round"], row["position"]) for row in timeline.rows] == [
        (number + 1, number * 101 + first) for number in range(ROUNDS) for first in range(1, 102, 2)
    ]
    disturbed = [row for row in timeline.rows if row["is_disturbed"] == "yes"]
    assert [(row["round"], row["position"]) for row in disturbed] == [(3, 303)]


def test_a_disturbed_cycle_is_not_lost_among_others_of_its_block() -> None:
    result = paced(1_000)

    def sliced(run: Run) -> Run:
        slices: list[float | None] = [10.0] * 300
        if run.round == 1:
            slices[7] = 50.0
        return msgspec.structs.replace(run, slices={"latency_p50_us": tuple(slices)})

    timeline = chart(result_of(result.plan, [*map(sliced, result.runs)]), "timeline")
    disturbed = [row for row in timeline.rows if row["is_disturbed"] == "yes"]
    assert "Each point is a block of 6 cycles of one round" in timeline.text
    found = [(row["round"], row["position"], row["median"], row["high"]) for row in disturbed]
    assert found == [(2, 307, 1, 5)]


def test_one_way_alone_does_not_tell_whether_it_was_the_host() -> None:
    result = paced(1_000, ways=("loop/nodelay",))
    runs = [
        msgspec.structs.replace(run, slices={"latency_p50_us": (1.0, 9.0)}) for run in result.runs
    ]
    names = [each.name for each in charts_of(result_of(result.plan, runs))]
    assert "latency-median" in names
    assert "timeline" not in names


def test_samples_that_alternate_have_a_timeline_and_those_that_do_not_have_none() -> None:
    plan = sizes_plans.planned(sizes_bytes=[1, 1_000], round_trips=[1])
    usual_us = {case.case_id: 10.0 * (at + 1) for at, case in enumerate(plan.cases)}
    measured = timed.measured(plan, lambda case, _number: usual_us[case.case_id])

    def sampled(run: Run) -> Run:
        usual = usual_us[run.case_id]
        slow = usual * (4 if run.round == 1 else 1)
        return msgspec.structs.replace(run, slices={"total_p50_us": (usual, slow, usual)})

    alternating = [
        msgspec.structs.replace(
            case, parameters=msgspec.structs.replace(case.parameters, alternates=True)
        )
        for case in plan.cases
    ]
    runs = [*map(sampled, measured.runs)]
    timeline = chart(
        result_of(msgspec.structs.replace(plan, cases=tuple(alternating)), runs), "timeline"
    )
    assert timeline.title == "Timeline of samples"
    assert "in which each case had a sample: its time there" in timeline.text
    disturbed = [row for row in timeline.rows if row["is_disturbed"] == "yes"]
    assert [(row["round"], row["position"], row["median"]) for row in disturbed] == [(2, 5, 4)]
    lone = [
        msgspec.structs.replace(
            case, parameters=msgspec.structs.replace(case.parameters, alternates=False)
        )
        for case in plan.cases
    ]
    result = result_of(msgspec.structs.replace(plan, cases=tuple(lone)), measured.runs)
    assert not [each for each in charts_of(result) if each.name.startswith("timeline")]


def sliced_calls(*runtimes: str, strategies: tuple[str, ...], counters: Counters) -> Result:
    """Callers of these ways on a connection each, with `counters` of theirs."""
    plan = plan_rr(RrOptions(runtimes=runtimes, connections=("per-caller",), strategies=strategies))
    runs = [
        msgspec.structs.replace(
            run, counters={**run.counters, **counters}, slices={"call_p50_us": (1.0, 2.0)}
        )
        for run in called.measured(plan).runs
    ]
    return result_of(plan, runs)


def timelines_of(result: Result) -> list[Chart]:
    return [found for found in charts_of(result) if found.name.startswith("timeline")]


def test_ways_that_take_turns_are_named_by_what_they_have_in_common() -> None:
    lasted = {SLICE_LASTED: 20_000_000}
    result = sliced_calls("threads", "asyncio", strategies=("nodelay",), counters=lasted)
    assert [found.where for found in timelines_of(result)] == ["1 send", "10 sends"]


def test_runtimes_that_took_their_turns_apart_have_a_timeline_each() -> None:
    """Results of earlier versions have such runtimes."""
    strategies = ("nodelay", "nagle")
    result = sliced_calls("threads", "asyncio", strategies=strategies, counters={})
    assert {found.where for found in timelines_of(result)} == {
        f"callers {runtime}, {sends}"
        for runtime in ("threads", "asyncio")
        for sends in ("1 send", "10 sends")
    }
