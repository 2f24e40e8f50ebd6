"""What counts decide: as many writes after as long holds are the same, whatever a clock says."""

from __future__ import annotations

import pytest
from claim.grid import OURS, Cell
from claim.judging.compare import LOOKS
from claim.judging.counts import MOST_APART, share_apart
from claim.judging.judge import Verdict, count_cells, verdicts_of
from claim.judging.samples import Samples
from claim.runs import Measured
from tests.claim.worlds import EQUAL, FLAT_OUT, LOOP, changed, even_noise, late, runs_of

NOISY = even_noise(0.4)
WORSE = {**EQUAL, OURS: 101_000.0}


def counted(runs: list[Measured], writes: int = 1_000, hold_ns: float = 0.0) -> list[Measured]:
    """The same runs: rivals make 1,000 writes of 1,000 messages and hold none, ours as given."""

    def told(run: Measured) -> Measured:
        is_ours = run.run.strategy == OURS
        made = writes if is_ours else 1_000
        held = hold_ns if is_ours else 0.0
        return changed(run, writes=made, holds=made if held else 0, hold_mean_ns=held or None)

    return [told(run) for run in runs]


def deciding(runs: list[Measured]) -> dict[int, Verdict]:
    found = verdicts_of([LOOP, FLAT_OUT], Samples.of(runs))
    return {each.cell: each for each in found if each.is_deciding}


def test_where_the_clock_cannot_say_as_many_writes_and_no_longer_holds_are_held() -> None:
    runs = runs_of([LOOP, FLAT_OUT], WORSE, noise=NOISY)
    by_clock = deciding(runs)
    assert {each.outcome for each in by_clock.values()} == {"undecided"}
    by_counts = deciding(counted(runs))
    assert {(each.outcome, each.is_by_counts) for each in by_counts.values()} == {("held", True)}
    assert {number: each.ratio for number, each in by_counts.items()} == {
        number: each.ratio for number, each in by_clock.items()
    }
    count = count_cells([LOOP, FLAT_OUT], by_counts.values())
    assert (count.held, count.by_counts, count.undecided) == (2, 2, 0)


@pytest.mark.parametrize(
    ("writes", "hold_ns"), [(1_030, 0.0), (970, 0.0), (1_000, 4_000.0), (1_000, 60_000.0)]
)
def test_other_writes_or_holds_are_not_the_same(writes: int, hold_ns: float) -> None:
    runs = counted(runs_of([LOOP], WORSE, noise=NOISY), writes, hold_ns)
    assert deciding(runs)[0].outcome == "undecided"


def test_flat_out_a_hold_costs_nothing() -> None:
    runs = counted(runs_of([LOOP, FLAT_OUT], WORSE, noise=NOISY), 1_000, 50_000.0)
    assert [each.outcome for each in deciding(runs).values()] == ["undecided", "held"]


def test_what_the_clock_decides_is_decided() -> None:
    lost = counted(runs_of([LOOP], {**EQUAL, OURS: 150_000.0}))
    assert (deciding(lost)[0].outcome, deciding(lost)[0].is_by_counts) == ("lost", False)
    held = counted(runs_of([LOOP]))
    assert (deciding(held)[0].outcome, deciding(held)[0].is_by_counts) == ("held", False)


def test_what_the_clock_shows_to_be_worse_within_the_margin_is_not_held_by_counts() -> None:
    runs = counted(runs_of([LOOP], {**EQUAL, OURS: 104_900.0}, noise=even_noise(0.01)))
    verdict = deciding(runs)[0]
    assert verdict.ratio.low > 1
    assert not verdict.is_by_counts


def test_ours_that_cannot_keep_up_is_not_held_by_counts() -> None:
    runs = late(counted(runs_of([LOOP], WORSE, noise=NOISY)), OURS)
    assert not deciding(runs)[0].is_by_counts


def test_rounds_up_to_the_first_look_are_needed_and_more_follow() -> None:
    early = counted(runs_of([LOOP], WORSE, noise=NOISY, rounds=LOOKS[0] - 1))
    assert deciding(early)[0].outcome == "undecided"
    (verdict,) = deciding(counted(runs_of([LOOP], WORSE, noise=NOISY))).values()
    assert verdict.is_by_counts
    assert verdict.may_be_decided


def test_of_threads_counts_decide_nothing() -> None:
    cell = Cell("threads", 10_000.0, "poisson", 1, 100)
    costs = dict.fromkeys(cell.strategies, 100_000.0)
    samples = Samples.of(counted(runs_of([cell], costs)))
    assert share_apart(samples, 0, cell, "sum", OURS, "nodelay") is None


def test_apart_are_the_share_of_writes_and_that_of_holds() -> None:
    samples = Samples.of(counted(runs_of([LOOP], noise=even_noise(0.0)), 1_010, 500.0))
    apart = share_apart(samples, 0, LOOP, "sum", OURS, "nodelay")
    assert apart is not None
    assert apart == pytest.approx(0.01 + 500 / 100_000, rel=0.3)
    assert apart < MOST_APART


def test_without_counts_nothing_is_known() -> None:
    samples = Samples.of(runs_of([LOOP]))
    assert share_apart(samples, 0, LOOP, "sum", OURS, "nodelay") is None
