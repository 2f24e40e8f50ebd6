"""Limits: up to which value of the parameter a latency stays below what was asked.

A paced sender's latency counts from the time at which its schedule hands a message over, however
late the sender is: a sender that stands still does not hide the messages that it should have sent
(G. Tene, How NOT to Measure Latency: coordinated omission).
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tinygram_bench.model.result import Figure
from tinygram_bench.model.sweep import Limit
from tinygram_bench.statistics.sweeps.curves import Curve


class Met(Struct, frozen=True):
    """How far a way keeps to the limit.

    `up_to`: the highest value with a median below the limit there and at all lower ones. `low`: the
    same with the whole interval below it; `high`: the lowest value at which the limit is not kept
    to (see `met_at`). Each is None where there is none. Nothing is known where no point has enough
    messages, or where those that have were not timed well enough by the clocks of two hosts.
    """

    state: Literal["met up to", "met everywhere", "never met", "not known", "not timed"]
    up_to: float | None = None
    low: float | None = None
    high: float | None = None


def met_at(curve: Curve, limit: Limit) -> tuple[int, ...]:
    """At each point 1 where the interval is below the limit, -1 where that is not kept to, else 0.

    Between two hosts the interval also holds what the clocks may be wrong by.
    The limit is not kept to where the interval is above it, nor where a way failed in every round,
    or fell behind its schedule in half of them: then it does not send what was asked, whatever its
    latency is. A figure that is in doubt shows neither, nor does one that may not be shown because
    the clocks of two hosts do not know it well enough.
    """
    return tuple(
        -1 if has_failed or is_behind else 0 if doubt else _sign(figure, bound_us or 0.0, limit)
        for figure, bound_us, has_failed, is_behind, doubt in zip(
            curve.figures,
            curve.bounds_us,
            curve.has_failed,
            curve.is_behind,
            curve.reasons,
            strict=True,
        )
    )


def _sign(figure: Figure | None, bound_us: float, limit: Limit) -> int:
    if figure is None:
        return 0
    is_above = figure.low - bound_us >= limit.below_us
    return -1 if is_above else int(figure.high + bound_us < limit.below_us)


def met_of(values: tuple[float, ...], curve: Curve, limit: Limit) -> Met:
    """How far the way keeps to the limit, as `values` of the parameter rise.

    Points that have too few messages for the figure are left out. So are those at which it may not
    be shown, but nothing above them is sure.
    """
    signs = met_at(curve, limit)
    unknown = curve.unknown or (None,) * len(values)
    known = [
        (value, sign, figure is not None and sign >= 0 and figure.median < limit.below_us)
        for value, sign, figure in zip(values, signs, curve.figures, strict=True)
        if sign or figure is not None
    ]
    untimed = {
        value
        for value, sign, each in zip(values, signs, unknown, strict=True)
        if each is not None and not sign
    }
    up_to = low = None
    is_sure = True
    for value, sign, is_below in known:
        if value in untimed:
            is_sure = False
            continue
        if not is_below:
            high = next((each for each, other, _ in known if other < 0 and each >= value), None)
            state: Literal["never met", "met up to"] = "never met" if up_to is None else "met up to"
            return Met(state, up_to, low, high)
        up_to = value
        is_sure = is_sure and sign > 0
        low = value if is_sure else low
    if up_to is None:
        return Met("not timed" if untimed else "not known")
    return Met("met everywhere" if up_to == values[-1] else "met up to", up_to, low)
