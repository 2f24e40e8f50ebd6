"""What the bench gives no verdict on gets none here, and what fails is never held."""

from __future__ import annotations

import pytest
from claim.grid import OURS, Cell
from claim.judging.doubts import is_overloaded
from claim.judging.judge import Verdict, verdicts_of
from claim.judging.samples import Samples
from claim.runs import Measured
from tests.claim.worlds import EQUAL, LOOP, changed, late, runs_of, scaled

FIXED = [strategy for strategy in LOOP.strategies if strategy != OURS]


def by_figure(runs: list[Measured], cell: Cell = LOOP) -> dict[str, Verdict]:
    return {verdict.figure: verdict for verdict in verdicts_of([cell], Samples.of(runs))}


def test_where_nobody_keeps_up_the_cpu_time_decides() -> None:
    found = by_figure(late(runs_of([LOOP]), *LOOP.strategies))
    assert {name: (each.outcome, each.doubt) for name, each in found.items()} == {
        "sum": ("undecided", "overloaded"),
        "p50": ("undecided", "overloaded"),
        "p99": ("undecided", "overloaded"),
        "cpu": ("held", None),
    }
    assert [name for name, each in found.items() if each.is_deciding] == ["cpu"]


def test_who_alone_cannot_keep_up_is_never_held_and_may_lose() -> None:
    equal = by_figure(late(runs_of([LOOP]), OURS))
    assert (equal["sum"].outcome, equal["sum"].doubt) == ("undecided", "cannot keep up")
    slower = by_figure(late(runs_of([LOOP], {**EQUAL, OURS: 200_000.0}), OURS))
    assert (slower["sum"].outcome, slower["sum"].is_large) == ("lost", True)


def test_a_strategy_that_cannot_keep_up_is_not_picked_where_one_can() -> None:
    costs = {**EQUAL, "nagle": 50_000.0}
    assert by_figure(runs_of([LOOP], costs))["sum"].rival == "nagle"
    assert by_figure(late(runs_of([LOOP], costs), "nagle"))["sum"].rival != "nagle"


def test_what_is_held_on_purpose_and_a_link_are_no_sign_of_overload() -> None:
    link = Cell("loop", 10_000.0, "poisson", 1, 100, link="rtt=5ms,bandwidth=1gbit")
    for cell, strategy, late_ms, is_late in (
        (LOOP, "tick", 0.9, False),
        (LOOP, "tick", 1.1, True),
        (LOOP, "coalesce:1ms", 1.9, False),
        (LOOP, "coalesce:1ms", 2.1, True),
        (link, "tick", 5.9, False),
        (link, "tick", 6.1, True),
    ):
        runs = [changed(run, late_ns=late_ms * 1e6) for run in runs_of([cell])]
        assert is_overloaded(Samples.of(runs), 0, cell, strategy) is is_late


def test_two_modes_of_the_ratios_are_never_held() -> None:
    runs = [
        scaled(run, "sum", 4 if run.round % 2 else 1) if run.run.strategy == OURS else run
        for run in runs_of([LOOP])
    ]
    found = by_figure(runs)
    assert (found["sum"].outcome, found["sum"].doubt) == ("undecided", "two modes")
    assert not found["sum"].is_large
    assert found["cpu"].outcome == "held"


def test_two_modes_that_are_both_worse_are_lost() -> None:
    runs = [
        scaled(run, "sum", 8 if run.round % 2 else 2) if run.run.strategy == OURS else run
        for run in runs_of([LOOP])
    ]
    found = by_figure(runs)["sum"]
    assert (found.outcome, found.doubt, found.is_large) == ("lost", "two modes", True)


def test_modes_that_both_have_in_the_same_rounds_are_not_in_the_ratio() -> None:
    runs = [scaled(run, "sum", 4 if run.round % 2 else 1) for run in runs_of([LOOP])]
    assert by_figure(runs)["sum"].outcome == "held"


def test_a_failed_run_of_ours_is_never_held_and_one_of_a_rival_is_left_out() -> None:
    def broken(strategy: str) -> list[Measured]:
        return [
            Measured(run.run, run.round, "it broke")
            if (run.run.strategy, run.round) == (strategy, 3)
            else run
            for run in runs_of([LOOP])
        ]

    ours = by_figure(broken(OURS))
    assert {(each.outcome, each.doubt) for each in ours.values()} == {("undecided", "failed")}
    assert {each.outcome for each in by_figure(broken("tick")).values()} == {"held"}


@pytest.mark.parametrize(
    ("warning", "doubt"), [("link_late", "late link"), ("slices_entered", "reached into")]
)
def test_where_too_many_rounds_of_either_were_spoilt_there_is_no_verdict(
    warning: str, doubt: str
) -> None:
    def spoilt(strategy: str, *, one_in: int) -> list[Measured]:
        return [
            changed(run, warnings=(warning,))
            if run.run.strategy == strategy and run.round % one_in == 0
            else run
            for run in runs
        ]

    runs = runs_of([LOOP], {**EQUAL, OURS: 200_000.0})
    assert by_figure(runs)["sum"].outcome == "lost"
    for strategy in (OURS, by_figure(runs)["sum"].rival):
        found = by_figure(spoilt(strategy, one_in=2))["sum"]
        assert (found.outcome, found.doubt) == ("undecided", doubt)
        assert by_figure(spoilt(strategy, one_in=5))["sum"].outcome == "lost"
