"""How the far host's clock differs from ours, and how well that is known.

A round trip says that the far clock was read between its beginning and its end (Cristian, 1989).
The shortest of many in a row bound the difference best. What cannot be known is how its time
divides between there and back: at a look the difference may be wrong by half of it. A run has looks
before, after, and in between, and its times are converted by the straight way from each look to the
next, which follows the drift. Between two looks a clock may have changed its rate. Then the looks
around them show another rate, as far as their own errors do not feign that it is the same. The
bound also holds how far a clock that changes its rate once between two looks can have come from the
straight way, with all of these errors against us; what is gone before the next look is not seen.
What is yet to come is converted by a line through the last looks (least squares).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import linear_regression
from typing import NamedTuple

from tinygram_bench.hosts.difference import MOST_DRIFT, Difference, Followed
from tinygram_bench.processes.workers import RunError

_MOST_RATE = 0.1
"""What a far clock feigns between two looks in quick succession, so that no time has two others."""
_LEVER = 4
"""A rate around two looks is that of looks so many times as far apart, if there are any. Looks
that are further apart know a rate better, and a clock is less likely to have kept it meanwhile."""
_JUMP_NS = 1_000_000
"""Clocks drift by millionths: one that comes this far from the straight way between two looks, and
as much further as the looks can feign, has jumped, or stood still."""


class JumpError(RunError):
    """A clock has jumped."""


class Look(NamedTuple):
    """The shortest round trip of a look: its time here, far minus near, and its length, in ns."""

    at_ns: int
    offset_ns: int
    round_trip_ns: int


def difference(looks: Sequence[Look]) -> Difference:
    """The line through the looks (least squares). Raises RunError where a clock has jumped."""
    since_ns, base_ns = looks[0].at_ns, looks[0].offset_ns
    # Relative to the first look: a float would keep too few digits of the times themselves.
    at_ns = [look.at_ns - since_ns for look in looks]
    strays_ns = [look.offset_ns - base_ns for look in looks]
    rate, at_first_ns = linear_regression(at_ns, strays_ns) if len(looks) > 1 else (0.0, 0.0)
    at_looks_ns = max(
        abs(stray_ns - (at_first_ns + rate * at)) + look.round_trip_ns / 2
        for look, at, stray_ns in zip(looks, at_ns, strays_ns, strict=True)
    )
    bound_ns = round(at_looks_ns + max(_unless_jumped(looks), default=0.0)) + 1
    return Difference(since_ns, base_ns + round(at_first_ns), rate, bound_ns)


def followed(looks: Sequence[Look], since_ns: int, slow: Iterable[Look] = ()) -> Followed:
    """The way from look to look, from the last one before `since_ns` on.

    Earlier ones count for how far the clock may have strayed from it, and `slow` ones where the way
    is none that they can have seen. Raises RunError where a clock has jumped.
    """
    from_look = max(0, bisect_right(looks, since_ns, key=lambda each: each.at_ns) - 1)
    own = looks[from_look:]
    strayed_ns = max(_unless_jumped(looks)[from_look:], default=0.0)
    bound_ns = round(max(look.round_trip_ns for look in own) / 2 + strayed_ns) + 1
    lines = [
        Difference(here.at_ns, here.offset_ns, rate, bound_ns)
        for here, next_ in pairwise(own)
        for rate in [max(-_MOST_RATE, min(_rate(here, next_), _MOST_RATE))]
    ]
    lines = lines or [Difference(own[0].at_ns, own[0].offset_ns, 0.0, bound_ns)]
    return Followed(lines, _contradicted_ns(Followed(lines), own, slow))


def _contradicted_ns(found: Followed, own: Sequence[Look], slow: Iterable[Look]) -> int:
    """By how much more the way from look to look may be wrong where slow looks contradict it."""
    within = [look for look in slow if own[0].at_ns < look.at_ns < own[-1].at_ns]
    strays_ns = (abs(found.far_ns(look.at_ns) - look.at_ns - look.offset_ns) for look in within)
    wrong_ns = [
        stray_ns + look.round_trip_ns / 2
        for stray_ns, look in zip(strays_ns, within, strict=True)
        if stray_ns > look.round_trip_ns / 2
    ]
    if not wrong_ns:
        return 0
    between_ns = max(each.strayed_ns for each in _misses(sorted([*own, *within])))
    return max(0, round(max(wrong_ns) + between_ns) + 1 - found.bound_ns)


def _unless_jumped(looks: Sequence[Look]) -> list[float]:
    """For each two looks in a row, how far the clock may have strayed. Raises JumpError."""
    misses = _misses(looks)
    trip_ns = max(look.round_trip_ns for look in looks)
    # Each of three looks may be wrong by half of its round trip, and the line through two of them
    # is prolonged to at most three times its length.
    least_ns = _JUMP_NS + 3 * trip_ns
    jumped_ns = max((each.most_ns for each in misses if each.most_ns > least_ns), default=0.0)
    for earlier, later in pairwise(looks):
        changed_ns = abs(later.offset_ns - earlier.offset_ns)
        drift_ns = MOST_DRIFT * (later.at_ns - earlier.at_ns)
        # Each of the two looks may be wrong by half of its round trip.
        if changed_ns > drift_ns + (earlier.round_trip_ns + later.round_trip_ns) / 2:
            jumped_ns = max(jumped_ns, changed_ns)
    if jumped_ns:
        raise JumpError(
            f"a clock of the two hosts has jumped by about {jumped_ns / 1e6:.3g} ms beside the "
            "other one: measure again when neither is set, suspended or moved"
        )
    return [each.strayed_ns for each in misses]


class _Miss(NamedTuple):
    """By how much the lines through the looks around two looks miss one of them, in ns.

    `most_ns`: the most of the line through earlier looks and that through later ones.
    `feigned_ns`: by how much more a line may have missed it, had no look been wrong; the less of
    the two lines.
    """

    most_ns: float = 0.0
    feigned_ns: float = 0.0

    @property
    def strayed_ns(self) -> float:
        """How far the clock may have come from the straight way, beside half of a round trip."""
        return self.most_ns + self.feigned_ns


def _misses(looks: Sequence[Look]) -> list[_Miss]:
    """For each two looks in a row, what the looks around them say of the clock meanwhile.

    Where it jumped, or changed its rate, once between the two, it has not come further from the
    straight way than either line misses the other of the two. Then each of the lines is enough to
    know it, but for its looks' errors. The larger miss counts, for a clock that has changed twice
    may have done so before one of the lines ended. Looks that lie nearer together than half of the
    time between the two know a rate too badly.
    """
    at_ns = [look.at_ns for look in looks]
    found = []
    for here, next_ in pairwise(range(len(looks))):
        apart_ns = at_ns[next_] - at_ns[here]
        lever_ns = _LEVER * apart_ns
        earlier = bisect_left(at_ns, at_ns[here] - lever_ns)
        if earlier and at_ns[here] - at_ns[earlier] < apart_ns:
            earlier -= 1
        later = bisect_right(at_ns, at_ns[next_] + lever_ns) - 1
        if later + 1 < len(looks) and at_ns[later] - at_ns[next_] < apart_ns:
            later += 1
        rate = _rate(looks[here], looks[next_])
        misses = [
            (
                abs(rate - _rate(looks[first], looks[last])) * apart_ns,
                # Each of the line's two looks may be wrong by half of its round trip.
                (looks[first].round_trip_ns + looks[last].round_trip_ns) / 2 * apart_ns / long_ns,
            )
            for first, last in ((earlier, here), (next_, later))
            for long_ns in [at_ns[last] - at_ns[first]]
            if long_ns >= apart_ns / 2
        ]
        found.append(_Miss(max(misses)[0], min(each for _, each in misses)) if misses else _Miss())
    return found


def _rate(earlier: Look, later: Look) -> float:
    return (later.offset_ns - earlier.offset_ns) / (later.at_ns - earlier.at_ns)
