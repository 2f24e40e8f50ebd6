"""One strategy beside another, round by round, at the looks that were planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from claim.judging.samples import is_odd, paired_ratios
from claim.judging.signed_rank import ratio_of
from tinygram_bench.model.result import Figure

LOOKS = (16, 24, 32)
"""After so many rounds of a cell it is looked at; where it is undecided, more follow.

Half of them compare. Of six ratios an interval that misses so seldom is from the least to the
greatest, and one disturbed run decides; of eight it leaves room for one.
"""
LOOK_ERRORS = (0.0235, 0.0123, 0.0142)
"""How often an interval may miss at each look: together 5 % (Bonferroni), 2.5 % on either side."""

Outcome = Literal["held", "lost", "undecided"]
Rounds = Literal["odd", "even"]


def looked_at(
    ours: Mapping[int, float], theirs: Mapping[int, float], rounds: Rounds
) -> list[float]:
    """ours ÷ theirs in the odd or even rounds up to the last look that was reached.

    Later rounds are left out: they were not planned to be looked at.
    """
    ratios = paired_ratios(ours, theirs)
    last = _last_look(ratios)
    return [
        ratio
        for round, ratio in ratios.items()
        if round <= last and is_odd(round) == (rounds == "odd")
    ]


def compared(
    ours: Mapping[int, float], theirs: Mapping[int, float], rounds: Rounds = "even"
) -> Figure | None:
    """The middle of these ratios and its interval; None where no round has both.

    Before the first look there is no bound.
    """
    used = looked_at(ours, theirs, rounds)
    last = max(paired_ratios(ours, theirs), default=0)
    errors = [error for look, error in zip(LOOKS, LOOK_ERRORS, strict=True) if look <= last]
    return ratio_of(used, errors[-1] if errors else 0.0) if used else None


def outcome_of(ratio: Figure, margin: float) -> Outcome:
    """Held when the whole interval is within the margin, or better; lost when it is beyond."""
    if ratio.high <= 1 + margin:
        return "held"
    return "lost" if ratio.low > 1 + margin else "undecided"


def _last_look(ratios: Mapping[int, float]) -> int:
    reached = [look for look in LOOKS if look <= max(ratios, default=0)]
    return reached[-1] if reached else LOOKS[0]
