"""What is looked at is what was planned, and an interval is held, lost or neither."""

from __future__ import annotations

import pytest
from claim.judging.compare import (
    LOOK_ERRORS,
    LOOKS,
    PICKING_ROUNDS,
    compared,
    of_all,
    outcome_of,
    picked,
)
from claim.judging.signed_rank import NO_BOUND, ratio_of

from tinygram_bench.model.result import Figure


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(0.5, 0.9, "held"), (0.9, 1.05, "held"), (0.9, 1.06, "undecided"), (1.06, 1.2, "lost")],
)
def test_an_interval_is_within_the_margin_beyond_it_or_neither(
    low: float, high: float, outcome: str
) -> None:
    assert outcome_of(Figure(1.0, low, high)) == outcome


def test_what_comes_after_the_last_look_is_not_looked_at() -> None:
    """Else there would be a look after every round, and errors without end."""
    ratios = {round: 1 + round / 100 for round in range(1, LOOKS[-1] + 1)}
    for look, error in zip(LOOKS, LOOK_ERRORS, strict=True):
        for more in range(5):
            so_far = {round: ratio for round, ratio in ratios.items() if round <= look + more}
            used = [ratios[round] for round in range(1, look + 1)]
            assert compared(so_far) == ratio_of(used[PICKING_ROUNDS:], error)
            assert of_all(so_far) == ratio_of(used, error)


def test_the_looks_together_miss_in_a_twentieth_at_most() -> None:
    assert sum(LOOK_ERRORS) <= 0.05


def test_before_the_first_look_there_is_no_interval() -> None:
    ratio = compared(dict.fromkeys(range(1, LOOKS[0]), 1.0))
    assert ratio is not None
    assert ratio.high == NO_BOUND
    assert compared({}) is None


def test_rounds_that_pick_do_not_compare_and_the_other_way_round() -> None:
    ratios = {round: 2.0 if round <= PICKING_ROUNDS else 0.5 for round in range(1, LOOKS[0] + 1)}
    comparing, picking, both = compared(ratios), picked(ratios), of_all(ratios)
    assert comparing is not None
    assert both is not None
    assert both == ratio_of(list(ratios.values()), LOOK_ERRORS[0])
    assert picking is not None
    assert (comparing.low, comparing.high) == (0.5, 0.5)
    assert (picking.low, picking.high) == (2.0, 2.0)
    assert compared(dict.fromkeys(range(1, PICKING_ROUNDS + 1), 2.0)) is None
