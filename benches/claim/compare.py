"""One strategy beside another, round by round, at the looks that were planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from claim.samples import is_odd, paired_ratios
from claim.signed_rank import ratio_of
from tinygram.bench.result import Figure

LOOKS = (12, 18, 24)
"""After so many rounds of a cell it is looked at; where it is undecided, more follow."""
LOOK_ERRORS = (0.0313, 0.0118, 0.0069)
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
    """The middle of these ratios and its interval; None where no round has both."""
    used = looked_at(ours, theirs, rounds)
    error = LOOK_ERRORS[LOOKS.index(_last_look(paired_ratios(ours, theirs)))]
    return ratio_of(used, error) if used else None


def outcome_of(ratio: Figure, margin: float) -> Outcome:
    """Held when the whole interval is within the margin, or better; lost when it is beyond."""
    if ratio.high <= 1 + margin:
        return "held"
    return "lost" if ratio.low > 1 + margin else "undecided"


def _last_look(ratios: Mapping[int, float]) -> int:
    reached = [look for look in LOOKS if look <= max(ratios, default=0)]
    return reached[-1] if reached else LOOKS[0]
