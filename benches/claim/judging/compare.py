"""One strategy beside another, round by round: the first rounds pick, the later ones compare.

What is lost is lost by the later rounds, so that luck in picking is not in it: the rival that was
picked may have been lucky. What is held is held against every rival that may be the best, whichever
is, so that luck in picking can only make it harder, and all rounds count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from claim.judging.signed_rank import ratio_of
from tinygram_bench.model.result import Figure

ALL_STRATEGIES_ROUNDS = 1
"""The rounds that every strategy has."""
PICKING_ROUNDS = 4
"""The rounds that pick the best fixed strategy; four ratios have an interval of 87.5 %."""
LOOKS = (12, 20, 28)
"""After so many rounds of a cell it is looked at; where it is undecided, more follow.

At the first look eight rounds compare, and an interval leaves room for a disturbed one.
"""
LOOK_ERRORS = (0.0235, 0.0123, 0.0142)
"""How often an interval may miss at each look: together 5 % (Bonferroni), 2.5 % on either side."""
_PICKING_ERROR = 0.125
MARGIN = 0.05
"""What counts as not worse."""
LARGE_LOSS = 0.10

Outcome = Literal["held", "lost", "undecided"]
Rule = Callable[[Mapping[int, float]], Figure | None]
"""What makes an interval of the ratios of rounds: `compared`, `of_all` or `picked`."""


def looked_at(ratios: Mapping[int, float]) -> list[float]:
    """The ratios of all rounds up to the last look that was reached.

    Later rounds are left out: they were not planned to be looked at.
    """
    return list(_until_look(ratios).values())


def compared(ratios: Mapping[int, float]) -> Figure | None:
    """The middle of the ratios of the rounds that compare, and its interval; None without any.

    Before the first look there is no bound.
    """
    found = _until_look(ratios)
    return _interval([found[round] for round in found if round > PICKING_ROUNDS], ratios)


def of_all(ratios: Mapping[int, float]) -> Figure | None:
    """The same of all rounds, those that pick among them."""
    return _interval(looked_at(ratios), ratios)


def _until_look(ratios: Mapping[int, float]) -> dict[int, float]:
    last = max((look for look in LOOKS if look <= max(ratios, default=0)), default=LOOKS[0])
    return {round: ratio for round, ratio in ratios.items() if round <= last}


def _interval(used: Sequence[float], ratios: Mapping[int, float]) -> Figure | None:
    last = max(ratios, default=0)
    errors = [error for look, error in zip(LOOKS, LOOK_ERRORS, strict=True) if look <= last]
    return ratio_of(used, errors[-1] if errors else 0.0) if used else None


def picked(ratios: Mapping[int, float]) -> Figure | None:
    """The same of the rounds that pick."""
    used = [ratio for round, ratio in ratios.items() if round <= PICKING_ROUNDS]
    return ratio_of(used, _PICKING_ERROR) if used else None


def outcome_of(ratio: Figure) -> Outcome:
    """Held when the whole interval is within the margin, or better; lost when it is beyond."""
    if ratio.high <= 1 + MARGIN:
        return "held"
    return "lost" if ratio.low > 1 + MARGIN else "undecided"
