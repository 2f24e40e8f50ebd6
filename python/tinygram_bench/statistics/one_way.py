"""One-way times between two hosts, and where the two clocks measure them well enough to be shown.

Law: where the clocks' difference may be wrong by more than a fifth of a latency, half of the round
trip is shown in its place, and labelled so. What was measured stays in the result, with its bound,
which stands beside every figure. Ways that take turns have the same error: it cannot change which
of them is faster, but the ratio of their latencies is known no better than the clocks are, and its
interval holds that. Runs that are alone have looks at the clocks of their own, and may be wrong in
opposite directions. Subscribers' times and those in a queue have more than a way in them, and
nothing is shown in their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.model.result import Figure, Summary, Warning
from tinygram_bench.statistics.figures.words import in_words, rounded_up

BOUND = "clock_bound_us"
INSTEAD = "half_round_trip_us"
OF_TWO_CLOCKS = (INSTEAD, BOUND)
"""Figures that only cases between two hosts have."""
_MOST_SHARE = 0.2
_QUEUEING = "queueing_"
_TIMES = ("latency_", "last_", _QUEUEING)

Figures = Mapping[str, Figure | None]


class Unknown(Struct, frozen=True):
    """Why a figure may not be shown, and half of the round trip, which is shown in its place.

    `instead` is None where nothing is shown in its place.
    """

    reason: str
    instead: Figure | None


def least_known_us(figures: Figures) -> float:
    """The least time that is known well enough, in µs; 0 where a single clock took the times."""
    return bound_us(figures) / _MOST_SHARE


def bound_us(figures: Figures) -> float:
    """By how much one-way times may be wrong, in µs: the most of all rounds; 0: by nothing."""
    bound = figures.get(BOUND)
    return 0.0 if bound is None else bound.high


def bound_on(figures: Figures, name: str) -> float | None:
    """By how much the clocks may be wrong in this figure, in µs; None: a single one timed it, or
    nothing is known of it.
    """
    if figures.get(name) is None or not is_of_two_clocks(name):
        return None
    return bound_us(figures) or None


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
    if is_known(figures, name):
        return None
    reason = (
        f"the clocks of the two hosts may be wrong by {rounded_up(bound_us(figures))} µs, more "
        f"than a fifth of the {in_words(name)}"
    )
    return Unknown(reason, None if name.startswith(_QUEUEING) else figures.get(INSTEAD))


def as_known(summary: Summary) -> Summary:
    """The summary without the figures that may not be shown."""
    figures = summary.figures
    known = {name: found if is_known(figures, name) else None for name, found in figures.items()}
    return replace(summary, figures=known)


def warnings_of(figures: Figures) -> Iterator[Warning]:
    """The warning of what is shown in the place of which figures; it bars no comparison."""
    unknown = {name: found for name in figures if (found := unknown_in(figures, name)) is not None}
    halves = [in_words(name) for name, each in unknown.items() if each.instead is not None]
    nothing = [in_words(name) for name, each in unknown.items() if each.instead is None]
    said = []
    if halves and (instead := figures.get(INSTEAD)) is not None:
        said.append(
            f"half of the shortest round trip, {instead.median:.1f} µs, is shown (rtt/2) in place "
            f"of {', '.join(halves)}"
        )
    if nothing:
        said.append(f"in place of {', '.join(nothing)} nothing is shown")
    if said:
        wrong_us = rounded_up(bound_us(figures))
        yield Warning(
            "half_round_trip",
            f"{'; '.join(said)}: the clocks of the two hosts may be wrong by {wrong_us} µs, more "
            "than a fifth of each",
        )


def with_common_error(ratio: Figure, baseline_us: float, errors_us: tuple[float, float]) -> Figure:
    """The interval of case ÷ baseline, with an error of both that is the same.

    `errors_us`: how much both may be too long, which is less than the shorter one, and too short.
    The interval does not come to 1: taking the same from both does not change which is longer.
    """
    too_long_us, too_short_us = errors_us

    def ends(end: float) -> Iterator[float]:
        for error_us in (-too_long_us, too_short_us):
            yield max(0.0, end * baseline_us + error_us) / (baseline_us + error_us)

    low, high = min(ratio.low, *ends(ratio.low)), max(ratio.high, *ends(ratio.high))
    return Figure(ratio.median, low, high)


def with_own_errors(
    ratio: Figure, times_us: tuple[float, float], errors_us: tuple[float, float]
) -> Figure:
    """The interval of second ÷ first, with an error of each, in either direction.

    `times_us` and `errors_us`: how long the first and the second are, and by how much each may be
    wrong. The interval has no end where the first is not known at all.
    """
    first, second = (error / time for error, time in zip(errors_us, times_us, strict=True))
    low = ratio.low * max(0.0, 1 - second) / (1 + first)
    high = ratio.high * (1 + second) / (1 - first) if first < 1 else inf
    return Figure(ratio.median, low, high)
