"""What the bench gives no verdict on gets none here, and what fails is never held."""

from __future__ import annotations

from claim.grid import OURS, Cell
from claim.judging.doubts import is_blurred
from claim.judging.judge import Verdict, verdicts_of
from claim.judging.samples import Samples
from claim.runs import Measured
from tests.claim.worlds import EQUAL, LOOP, changed, late, runs_of

FIXED = [strategy for strategy in LOOP.strategies if strategy != OURS]


def by_figure(runs: list[Measured], cell: Cell = LOOP) -> dict[str, Verdict]:
    return {verdict.figure: verdict for verdict in verdicts_of([cell], Samples.of(runs), "each")}


def test_where_nobody_keeps_up_there_is_no_latency() -> None:
    found = by_figure(late(runs_of([LOOP]), *LOOP.strategies))
    assert {name: (each.outcome, each.doubt) for name, each in found.items()} == {
        "p50": ("undecided", "overloaded"),
        "p99": ("undecided", "overloaded"),
        "cpu": ("held", None),
    }


def test_who_alone_cannot_keep_up_never_holds_a_latency_and_may_lose() -> None:
    equal = by_figure(late(runs_of([LOOP]), OURS))
    assert (equal["p50"].outcome, equal["p50"].doubt) == ("undecided", "cannot keep up")
    slower = by_figure(late(runs_of([LOOP], {**EQUAL, OURS: 200_000.0}), OURS))
    assert (slower["p50"].outcome, slower["p50"].is_large) == ("lost", True)


def test_a_strategy_that_cannot_keep_up_is_not_picked_where_one_can() -> None:
    costs = {**EQUAL, "nagle": 50_000.0}
    assert by_figure(runs_of([LOOP], costs))["cpu"].rival == "nagle"
    assert by_figure(late(runs_of([LOOP], costs), "nagle"))["cpu"].rival != "nagle"


def test_two_modes_of_the_ratios_are_never_held() -> None:
    runs = [
        changed(run, p50_ns=(run.p50_ns or 0) * (4 if run.round % 4 else 1))
        if run.strategy == OURS
        else run
        for run in runs_of([LOOP])
    ]
    found = by_figure(runs)
    assert (found["p50"].outcome, found["p50"].doubt) == ("undecided", "two modes")
    assert not found["p50"].is_large
    assert found["p99"].outcome == "held"


def test_two_modes_that_are_both_worse_are_lost() -> None:
    runs = [
        changed(run, p50_ns=(run.p50_ns or 0) * (8 if run.round % 4 else 2))
        if run.strategy == OURS
        else run
        for run in runs_of([LOOP])
    ]
    p50 = by_figure(runs)["p50"]
    assert (p50.outcome, p50.doubt, p50.is_large) == ("lost", "two modes", True)


def test_modes_that_both_have_in_the_same_rounds_are_not_in_the_ratio() -> None:
    runs = [
        changed(run, p50_ns=(run.p50_ns or 0) * (4 if run.round % 4 else 1))
        for run in runs_of([LOOP])
    ]
    assert by_figure(runs)["p50"].outcome == "held"


def test_a_failed_run_of_ours_is_never_held_and_one_of_a_rival_is_left_out() -> None:
    def broken(strategy: str) -> list[Measured]:
        return [
            Measured(run.cell, run.strategy, run.variant, run.round, "it broke")
            if (run.strategy, run.round) == (strategy, 3)
            else run
            for run in runs_of([LOOP])
        ]

    ours = by_figure(broken(OURS))
    assert {(each.outcome, each.doubt) for each in ours.values()} == {("undecided", "failed")}
    assert {each.outcome for each in by_figure(broken("tick")).values()} == {"held"}


def test_a_late_pacer_blurs_what_it_is_left_in_and_nothing_else() -> None:
    runs = [
        changed(run, pacing_p50_ns=60_000, gross_p50_ns=(run.p50_ns or 0) + 60_000)
        for run in runs_of([LOOP])
    ]
    samples = Samples.of(runs)
    assert is_blurred(samples, 0, OURS, "p50")
    assert not is_blurred(samples, 0, OURS, "p99")
    assert not is_blurred(samples, 0, OURS, "cpu")
    found = by_figure(runs)
    assert {name: (each.outcome, each.gross) for name, each in found.items()} == {
        "p50": ("held", "undecided"),
        "p99": ("held", "held"),
        "cpu": ("held", "held"),
    }


def test_what_is_common_to_all_hides_in_the_gross_ratio() -> None:
    """A pacer as late as ten latencies, and a strategy that is twice as slow."""
    costs = {**EQUAL, OURS: 200_000.0}
    runs = [
        changed(run, gross_p50_ns=(run.p50_ns or 0) + 1_000_000, pacing_p50_ns=1_000_000)
        for run in runs_of([LOOP], costs)
    ]
    found = by_figure(runs)["p50"]
    assert (found.outcome, found.gross) == ("lost", "undecided")


def over_late_link(runs: list[Measured], strategy: str, *, one_in: int) -> list[Measured]:
    def is_late(run: Measured) -> bool:
        return run.strategy == strategy and run.round % one_in == 0

    return [changed(run, warnings=("link_late",)) if is_late(run) else run for run in runs]


def test_where_the_link_was_late_in_too_many_runs_of_either_there_is_no_verdict() -> None:
    runs = runs_of([LOOP], {**EQUAL, OURS: 200_000.0})
    assert by_figure(runs)["p50"].outcome == "lost"
    for strategy in (OURS, by_figure(runs)["p50"].rival):
        found = by_figure(over_late_link(runs, strategy, one_in=2))
        assert {(each.outcome, each.doubt) for each in found.values()} == {
            ("undecided", "late link")
        }
        found = by_figure(over_late_link(runs, strategy, one_in=4))
        assert found["p50"].outcome == "lost"
