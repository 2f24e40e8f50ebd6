"""What is shown to have changed between two results, and what is not."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace
from tests.support.compared import compared_result

from tinygram_bench.model.parameters import FanoutParameters
from tinygram_bench.model.result import Case, MessageBytes, Result, Summary, Warning
from tinygram_bench.report.comparing import answer, said
from tinygram_bench.report.numbers import number
from tinygram_bench.statistics.changes.change import Change
from tinygram_bench.statistics.changes.comparison import Comparison, compare_results
from tinygram_bench.statistics.changes.student import beyond, quantile
from tinygram_bench.statistics.workloads.loads import case_names

WAYS = ("nodelay", "nagle", "cork", "more")


def rounds(seed: int, factor: float = 1.0, count: int = 8, spread: float = 0.02) -> list[float]:
    noise = random.Random(seed)
    return [1e5 * factor * noise.lognormvariate(0, spread) for _ in range(count)]


def values(seed: int, **factors: float) -> dict[str, list[float]]:
    return {way: rounds(seed * 100 + at, factors.get(way, 1.0)) for at, way in enumerate(WAYS)}


def change_of(comparison: Comparison, strategy: str, figure: str) -> Change:
    (found,) = (
        change
        for change in comparison.changes
        if (change.case.strategy, change.figure) == (strategy, figure)
    )
    return found


def shown(comparison: Comparison, kind: str = "times") -> dict[tuple[str, str], str]:
    return {
        (change.case.strategy, change.figure): change.shown
        for change in comparison.changes
        if change.kind == kind and change.shown in ("worse", "better")
    }


@pytest.mark.parametrize(
    ("outside", "freedom", "t"),
    [(0.05, 10, 2.228), (0.01, 5, 4.032), (0.001, 30, 3.646), (0.05, 1, 12.706)],
)
def test_the_quantiles_are_those_of_the_published_table(
    outside: float, freedom: float, t: float
) -> None:
    assert quantile(outside, freedom) == pytest.approx(t, abs=6e-4)
    assert beyond(t, freedom) == pytest.approx(outside, rel=2e-3)


def test_one_way_that_became_slower_is_shown_and_no_other() -> None:
    comparison = compare_results(
        compared_result(values(1)), compared_result(values(2, nagle=0.8)), "times"
    )
    assert shown(comparison) == {
        ("nagle", "throughput_per_s"): "worse",
        ("nagle", "run_time_s"): "worse",
    }
    assert comparison.changes[0].case.strategy == "nagle"


def test_one_way_that_became_faster_is_better() -> None:
    found = compare_results(
        compared_result(values(1)), compared_result(values(2, nagle=1.3)), "times"
    )
    assert change_of(found, "nagle", "throughput_per_s").shown == "better"
    assert change_of(found, "nagle", "run_time_s").shown == "better"


def test_a_host_that_has_become_slower_for_all_is_no_change_of_a_case() -> None:
    slower = dict.fromkeys(WAYS, 0.7)
    comparison = compare_results(
        compared_result(values(1)), compared_result(values(2, **slower)), "times"
    )
    assert shown(comparison) == {}
    # And it cannot be said that they are not worse, either.
    assert change_of(comparison, "nagle", "run_time_s").passed(0.05) == "cannot_say"


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ({"nodelay": 0.9, "nagle": 0.9}, set()),  # Drift that meets all alike,
        ({"nagle": 1.2}, {("nagle", "better")}),  # the others alone,
        ({"nodelay": 0.9, "nagle": 1.2 * 0.9}, {("nodelay", "worse"), ("nagle", "better")}),
    ],
)
def test_drift_and_a_change_of_the_others_are_no_change_of_a_case_but_together_they_are(
    factors: dict[str, float], expected: set[tuple[str, str]]
) -> None:
    before, after = (
        {way: [1e5 * by.get(way, 1.0)] * 8 for way in ("nodelay", "nagle")} for by in ({}, factors)
    )
    found = shown(compare_results(compared_result(before), compared_result(after), "times"))
    assert {(way, word) for (way, _), word in found.items()} == expected


@pytest.mark.parametrize(
    ("drift", "did", "of"),
    [
        (1.0, 1.1, ("nodelay", "nagle")),
        (0.5, 1.0, ("nodelay", "nagle")),
        (0.5, 1.1, ("nodelay",)),  # Drift, and beside `nagle` another case that changed: not both.
    ],
)
def test_an_interval_misses_no_more_often_than_the_one_that_tells_what_a_case_did_itself(
    drift: float, did: float, of: tuple[str, ...]
) -> None:
    own = {"nodelay": did, "nagle": 1.0}
    missed = 0
    for seed in range(1, 21):
        before = {way: rounds(seed * 100 + at) for at, way in enumerate(own)}
        after = {way: rounds(seed * 100 + 50 + at, drift * own[way]) for at, way in enumerate(own)}
        found = compare_results(compared_result(before), compared_result(after), "times")
        for way in of:
            ratio = change_of(found, way, "throughput_per_s").ratio
            assert ratio is not None
            missed += not ratio.low <= own[way] <= ratio.high
    assert missed <= 1


def test_a_case_that_a_warning_bars_is_not_what_others_are_compared_beside() -> None:
    """Beside `nagle`, which a warning bars and which became faster, too, nothing would be shown."""
    after = {"nodelay": [1.2e5] * 8, "nagle": [1.2e5] * 8, "cork": [1e5] * 8}
    before = compared_result({way: [1e5] * 8 for way in after})

    def nodelay(later: Result) -> Change:
        comparison = compare_results(before, later, "times")
        return change_of(comparison, "nodelay", "throughput_per_s")

    def least(later: Result) -> float:
        ratio = nodelay(later).ratio
        assert ratio is not None
        return ratio.low

    later = compared_result(after)
    barred = replace(later, summaries=(warned(later.plan.cases[1]),))
    assert least(later) == pytest.approx(1.2**0.5, rel=1e-2)
    assert least(barred) == pytest.approx(1.2, rel=1e-2)
    all_barred = replace(later, summaries=tuple(map(warned, later.plan.cases[1:])))
    assert "without a warning" in (nodelay(all_barred).reason or "")


def warned(case: Case) -> Summary:
    warning = Warning("shared_core", "another program used its core", ("",))
    return Summary(
        case=case, rounds=8, failed_rounds=0, confidence=0.99, figures={}, warnings=(warning,)
    )


def test_nothing_is_shown_in_a_hundred_comparisons_of_the_same() -> None:
    found = [
        shown(
            compare_results(compared_result(values(seed)), compared_result(values(-seed)), "times")
        )
        for seed in range(1, 101)
    ]
    assert sum(map(bool, found)) <= 2


def test_a_case_alone_cannot_be_told_from_the_host() -> None:
    before, after = ({"nodelay": rounds(seed)} for seed in (1, 2))
    comparison = compare_results(compared_result(before), compared_result(after), "times")
    assert {change.shown for change in comparison.changes} == {"cannot_say"}
    assert "no other case of its load" in (comparison.changes[0].reason or "")


def test_five_rounds_are_too_few() -> None:
    few = {way: rounds(1, count=5) for way in WAYS}
    comparison = compare_results(compared_result(few), compared_result(values(2)), "times")
    assert {change.reason for change in comparison.changes} == {
        "before there are 5 rounds, and 6 are needed"
    }


def test_what_passes_a_gate_is_shown_not_to_be_worse() -> None:
    exact = {way: [1e5] * 8 for way in WAYS}
    comparison = compare_results(compared_result(exact), compared_result(exact), "times")
    assert {change.passed(0.05) for change in comparison.changes} == {"passes"}


WRITES = {"nodelay": [1000] * 8, "nagle": [50, 60, 52, 58, 55, 51, 57, 59]}


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ({}, {}),
        ({"nodelay": [1001] * 8}, {("nodelay", "writes_per_message"): "worse"}),
        ({"nodelay": [500] * 8}, {("nodelay", "writes_per_message"): "better"}),
        # Beyond its range, but by less than it varies by itself.
        ({"nagle": [62, 64, 63, 62, 65, 66, 63, 64]}, {}),
        ({"nagle": [80, 90, 84, 82, 85, 86, 83, 84]}, {("nagle", "writes_per_message"): "worse"}),
    ],
)
def test_a_count_changes_beyond_what_it_varies_by_itself(
    after: dict[str, list[int]], expected: dict[tuple[str, str], str]
) -> None:
    rates = {way: [1e5] * 8 for way in WRITES}
    comparison = compare_results(
        compared_result(rates, WRITES), compared_result(rates, WRITES | after), "counts"
    )
    assert shown(comparison, "counts") == expected


@pytest.mark.parametrize("name", ["before", "after"])
def test_a_count_of_none_has_no_ratio_and_says_so(name: str) -> None:
    rates = {"nodelay": [1e5] * 8}
    none = {"nodelay": [0, *[1000] * 7]}
    before, after = (
        compared_result(rates, none if each == name else WRITES) for each in ("before", "after")
    )
    comparison = compare_results(before, after, "counts")
    change = change_of(comparison, "nodelay", "writes_per_message")
    reason = f"{name} some rounds counted none, so there is no ratio"
    assert (change.shown, change.ratio, change.reason) == ("cannot_say", None, reason)
    told = f"loop/nodelay, stream flat out: writes per message: {reason}"
    assert said(change, comparison.names) == told


@pytest.mark.parametrize(
    ("before", "after", "shown", "passed"),
    [(0, 0, "not_shown", "passes"), (0, 3, "worse", "fails"), (3, 0, "better", "passes")],
)
def test_a_count_that_is_none_in_every_round_has_changed_only_where_it_is_some_now(
    before: int, after: int, shown: str, passed: str
) -> None:
    rates = {"nodelay": [1e5] * 8}
    earlier, later = (compared_result(rates, {"nodelay": [each] * 8}) for each in (before, after))
    change = change_of(compare_results(earlier, later, "counts"), "nodelay", "writes_per_message")
    assert (change.shown, change.passed(0.05)) == (shown, passed)


def test_a_count_that_was_none_is_told_without_a_ratio() -> None:
    rates = {"nodelay": [1e5] * 8}
    earlier, later = (compared_result(rates, {"nodelay": [each] * 8}) for each in (0, 3))
    comparison = compare_results(earlier, later, "counts")
    change = change_of(comparison, "nodelay", "writes_per_message")
    assert change.after is not None
    told = f"writes per message from none to {number(change.after.median)}"
    assert said(change, comparison.names) == f"loop/nodelay, stream flat out: {told}"
    assert "inf" not in " ".join(answer(comparison))


def test_what_a_warning_bars_says_why_and_no_ratio() -> None:
    before, after = (compared_result(values(seed)) for seed in (1, 2))
    warning = Warning("stopped", "it was stopped", ("throughput",))
    summary = Summary(before.plan.cases[0], 8, 0, 0.99, {}, (warning,))
    before = replace(before, summaries=(summary,))
    comparison = compare_results(before, after, "times")
    change = change_of(comparison, "nodelay", "throughput_per_s")
    assert change.ratio is not None
    told = "loop/nodelay, stream flat out: throughput: before: it was stopped"
    assert said(change, comparison.names) == told


def test_cases_that_differ_in_more_than_their_way_and_rate_have_names_of_their_own() -> None:
    (case,) = compared_result({"nodelay": [1e5] * 8}).plan.cases
    larger = replace(case, case_id="larger", message_bytes=MessageBytes(1_000, 1_000))
    cork = replace(case, case_id="cork", strategy="cork")
    published = FanoutParameters(
        congestion_control="reno", timeout_ns=1, server="protocol", duration_ns=1
    )
    paced = replace(
        case, case_id="paced", workload="fanout", rate_per_s=100.0, parameters=published
    )
    assert case_names([case, larger, cork, paced]) == {
        case.case_id: case.case_id,
        "larger": "larger",
        "cork": "loop/cork, stream flat out",
        "paced": "loop/protocol, fanout 100/s",
    }


def test_a_gate_asks_for_more_than_the_range_of_a_count_that_time_decides() -> None:
    """Within it nothing is shown at 1 %; a count that does not vary is shown to be the same."""
    rates = {way: [1e5] * 8 for way in WRITES}
    busier = WRITES | {"nagle": [55, 66, 57, 64, 60, 56, 63, 65]}
    comparison = compare_results(
        compared_result(rates, WRITES), compared_result(rates, busier), "counts"
    )
    of_time, of_bytes = (
        change_of(comparison, way, "writes_per_message") for way in ("nagle", "nodelay")
    )
    assert (of_time.shown, of_time.passed(0.01)) == ("not_shown", "cannot_say")
    assert of_bytes.passed(0.01) == "passes"


def test_a_count_that_one_result_lacks_cannot_be_said() -> None:
    rates = {"nodelay": [1e5] * 8}
    comparison = compare_results(compared_result(rates, WRITES), compared_result(rates), "counts")
    change = change_of(comparison, "nodelay", "writes_per_message")
    assert (change.shown, change.reason) == ("cannot_say", "after it was not counted")
    assert change.passed(0.05) == "cannot_say"


def test_records_of_tls_and_their_bytes_are_counts_of_a_message() -> None:
    """A record for each message, where a batch had been one."""
    rates = {"nodelay": [1e5] * 8}

    def over_tls(records: int, wire_bytes: int) -> Result:
        result = compared_result(rates, WRITES)
        more: dict[str, int | None] = {"tls_records": records, "wire_bytes": wire_bytes}
        runs = tuple(replace(run, counters=run.counters | more) for run in result.runs)
        return replace(result, runs=runs)

    comparison = compare_results(over_tls(160, 103_520), over_tls(1_000, 122_000), "counts")
    found = {
        figure: change_of(comparison, "nodelay", figure).shown
        for figure in ("records_per_message", "wire_bytes_per_message")
    }
    assert found == {"records_per_message": "worse", "wire_bytes_per_message": "worse"}
