"""One-way times between two hosts, and where the two clocks measure them well enough to be shown.

Law: where the clocks' difference may be wrong by more than a fifth of a latency, half of the round
trip is shown in its place, and labelled so. What was measured stays in the result, with its bound:
ways of one round have the same error. It cannot change which of them is faster; a ratio of two
latencies may be off by as large a share as the bound is of them. That holds for ways that take
turns: each run that is alone has looks at the clocks of its own. Subscribers' times have more than
a way in them, and nothing is shown in their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.model.result import Figure, Summary, Warning
from tinygram_bench.statistics.figures.words import in_words

BOUND = "clock_bound_us"
INSTEAD = "half_round_trip_us"
OF_TWO_CLOCKS = (INSTEAD, BOUND)
"""Figures that only cases between two hosts have."""
_MOST_SHARE = 0.2
_TIMES = ("latency_", "last_")

Figures = Mapping[str, Figure | None]


class Unknown(Struct, frozen=True):
    """Why a figure may not be shown, and half of the round trip, which is shown in its place.

    `instead` is None where nothing is shown in its place.
    """

    reason: str
    instead: Figure | None


def least_known_us(figures: Figures) -> float:
    """The least time that is known well enough, in µs; 0 where a single clock took the times."""
    bound = figures.get(BOUND)
    return 0.0 if bound is None else bound.high / _MOST_SHARE


def is_known(figures: Figures, name: str) -> bool:
    """Whether a figure may be shown; true also where it has no value."""
    found = figures.get(name)
    if found is None or not is_of_two_clocks(name):
        return True
    return found.median >= least_known_us(figures)


def is_of_two_clocks(name: str) -> bool:
    """Whether between two hosts the figure is a time that begins on one and ends on the other."""
    return name.startswith(_TIMES)


def unknown_in(figures: Figures, name: str) -> Unknown | None:
    """What to say of a figure that may not be shown; None where it may."""
    bound = figures.get(BOUND)
    if bound is None or is_known(figures, name):
        return None
    reason = (
        f"the clocks of the two hosts may be wrong by {bound.high:.1f} µs, more than a fifth of "
        f"the {in_words(name)}"
    )
    return Unknown(reason, figures.get(INSTEAD))


def as_known(summary: Summary) -> Summary:
    """The summary without the figures that may not be shown."""
    figures = summary.figures
    known = {name: found if is_known(figures, name) else None for name, found in figures.items()}
    return replace(summary, figures=known)


def warnings_of(figures: Figures) -> Iterator[Warning]:
    """The warning of what is shown in the place of which figures; it bars no comparison."""
    unknown = [name for name in figures if not is_known(figures, name)]
    bound, instead = figures.get(BOUND), figures.get(INSTEAD)
    if not unknown or bound is None:
        return
    names = ", ".join(map(in_words, unknown))
    shown = (
        f"in place of {names} nothing is shown"
        if instead is None
        else f"half of the shortest round trip, {instead.median:.1f} µs, is shown (rtt/2) in place "
        f"of {names}"
    )
    yield Warning(
        "half_round_trip",
        f"{shown}: the clocks of the two hosts may be wrong by {bound.high:.1f} µs, more than a "
        "fifth of each",
    )
