"""What is shown to have changed between two results, and what is not."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace
from tests.support.compared import compared_result

from tinygram_bench.model.result import Summary, Warning
from tinygram_bench.report.comparing import said
from tinygram_bench.statistics.changes.change import Change
from tinygram_bench.statistics.changes.comparison import Comparison, compare_results
from tinygram_bench.statistics.changes.student import beyond, quantile

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
    assert "alone in its load" in (comparison.changes[0].reason or "")


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
    change = change_of(compare_results(before, after, "counts"), "nodelay", "writes_per_message")
    reason = f"{name} a round counted none, so there is no ratio"
    assert (change.shown, change.ratio, change.reason) == ("cannot_say", None, reason)
    assert said(change) == f"loop/nodelay, stream flat out: writes per message: {reason}"


def test_what_a_warning_bars_says_why_and_no_ratio() -> None:
    before, after = (compared_result(values(seed)) for seed in (1, 2))
    warning = Warning("stopped", "it was stopped", ("throughput",))
    summary = Summary(before.plan.cases[0], 8, 0, 0.99, {}, (warning,))
    before = replace(before, summaries=(summary,))
    change = change_of(compare_results(before, after, "times"), "nodelay", "throughput_per_s")
    assert change.ratio is not None
    assert said(change) == "loop/nodelay, stream flat out: throughput: before: it was stopped"


def test_a_count_that_one_result_lacks_cannot_be_said() -> None:
    rates = {"nodelay": [1e5] * 8}
    comparison = compare_results(compared_result(rates, WRITES), compared_result(rates), "counts")
    change = change_of(comparison, "nodelay", "writes_per_message")
    assert (change.shown, change.reason) == ("cannot_say", "after it was not counted")
    assert change.passed(0.05) == "cannot_say"
