"""What is looked at is what was planned, and an interval is held, lost or neither."""

from __future__ import annotations

import pytest
from claim.judging.compare import LOOK_ERRORS, LOOKS, compared, outcome_of
from claim.judging.signed_rank import NO_BOUND, ratio_of

from tinygram_bench.model.result import Figure


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(0.5, 0.9, "held"), (0.9, 1.05, "held"), (0.9, 1.06, "undecided"), (1.06, 1.2, "lost")],
)
def test_an_interval_is_within_the_margin_beyond_it_or_neither(
    low: float, high: float, outcome: str
) -> None:
    assert outcome_of(Figure(1.0, low, high), 0.05) == outcome


def test_what_comes_after_the_last_look_is_not_looked_at() -> None:
    """Else there would be a look after every round, and errors without end."""
    ones = dict.fromkeys(range(1, LOOKS[-1] + 1), 1.0)
    ratios = {round: 1 + round / 100 for round in ones}
    for look, error in zip(LOOKS, LOOK_ERRORS, strict=True):
        for more in range(5):
            so_far = {round: ratios[round] for round in ones if round <= look + more}
            even, odd = ([ratios[at] for at in range(first, look + 1, 2)] for first in (2, 1))
            assert compared(so_far, ones, "even") == ratio_of(even, error)
            assert compared(so_far, ones, "odd") == ratio_of(odd, error)


def test_before_the_first_look_there_is_no_interval() -> None:
    ones = dict.fromkeys(range(1, LOOKS[0]), 1.0)
    ratio = compared(ones, ones)
    assert ratio is not None
    assert ratio.high == NO_BOUND
    assert compared(ones, {}) is None
