"""Numbers as text: as many digits as a reader can use, and a mark where no difference is shown."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import ceil, floor

from tinygram_bench.model.result import Figure, Summary, Verdict
from tinygram_bench.statistics.figures.words import rounded_up
from tinygram_bench.statistics.one_way import Unknown, as_known, unknown_in

UNKNOWN = "–"
HALF = "rtt/2"
"""The mark of half of a round trip that is shown in place of a latency."""
CLOCK = "± clock"
"""The heading of what the clocks of two hosts may be wrong by."""
CLOCK_HEAD = CLOCK.replace(" ", "\n")
"""The same as the narrow head of a column."""
OF_TWO_MODES = "~"
"""The mark of a difference that is shown, and whose size has two modes."""
_MARKS = {"faster": "", "slower": "", "no_difference_shown": "=", "cannot_say": "?"}


def number(value: float | None) -> str:
    """At most three digits, or a whole number: `0.0043`, `0.25`, `4.05`, `52.1`, `43,991`."""
    if value is None:
        return UNKNOWN
    if value == 0 or abs(value) >= 99.95:
        return f"{value:,.0f}"
    if abs(value) >= 9.995:
        return f"{value:.1f}"
    if abs(value) >= 0.1:
        return f"{value:.2f}"
    # Formatted by Decimal, which writes no power of ten.
    return f"{Decimal(f'{value:.2g}'):f}"


def rate(value: float | None) -> str:
    """Four digits and a suffix: `950`, `224.2k`, `1.235M`."""
    if value is None:
        return UNKNOWN
    for scale, suffix in ((1e6, "M"), (1e3, "k")):
        if value >= scale * 0.99995:
            scaled = value / scale
            digits = 3 if scaled < 9.9995 else 2 if scaled < 99.995 else 1
            return f"{scaled:.{digits}f}{suffix}"
    return number(value)


def interval(figure: Figure | None) -> str:
    """`low–high` in whole numbers, below 10 in tenths, rounded outwards."""
    if figure is None:
        return UNKNOWN
    low, high = _coarse(figure.low, floor), _coarse(figure.high, ceil)
    return f"{low}–{high}"


def _coarse(value: float, rounded: Callable[[float], int]) -> str:
    tenths = rounded(round(value * 10, 6))
    return f"{tenths / 10:.1f}" if tenths < 100 else f"{rounded(value):,}"


def rate_interval(figure: Figure | None) -> str:
    return UNKNOWN if figure is None else f"{rate(figure.low)}–{rate(figure.high)}"


def ratio(value: float) -> str:
    """A number, with a third decimal near 1, where it matters."""
    return f"{value:.3f}" if 0.9 <= value < 1.1 else number(value)


def ratio_interval(figure: Figure) -> str:
    return f"{ratio(figure.low)}–{ratio(figure.high)}"


def percent_at_most(share: float) -> str:
    """A share rounded up: `3.1%`, and from 10 % on a whole number: `18%`."""
    return _coarse(share * 100, ceil) + "%"


def median(figure: Figure | None) -> str:
    return number(None if figure is None else figure.median)


def median_of(summary: Summary, figure: str) -> str:
    """The median of the summary's figure; `–` where it has none.

    In place of a latency that two clocks do not know well enough, half of the round trip is shown:
    `18.4 rtt/2`; or `–`, where times have more than a way in them.
    """
    return median_or_half(summary.figures.get(figure), unknown_in(summary.figures, figure))


def median_or_half(figure: Figure | None, unknown: Unknown | None) -> str:
    """The median of the figure; where it may not be shown, what `median_of` has in its place."""
    if unknown is None:
        return median(figure)
    return UNKNOWN if unknown.instead is None else f"{median(unknown.instead)} {HALF}"


def interval_of(summary: Summary, figure: str) -> str:
    """The interval of the summary's figure; `–` where its median is not shown either."""
    return interval(as_known(summary).figures.get(figure))


def clock(bound_us: float | None) -> str:
    """By how much the clocks may be wrong, rounded up; `–` where a single one timed it."""
    return rounded_up(bound_us) if bound_us else UNKNOWN


def clock_note(where: str) -> str:
    """The note on a column of what the clocks may be wrong by; `where`: in which figures."""
    return f"{CLOCK}  in µs: the clocks of the two hosts may be wrong by so much in {where}"


def span(figure: Figure | None) -> str:
    return UNKNOWN if figure is None else f"{number(figure.low)}–{number(figure.high)}"


def marked_ratio(verdict: Verdict | None) -> str:
    """The verdict's ratio, marked where it is not shown to differ from 1 or has two modes."""
    if verdict is None or verdict.ratio is None:
        return UNKNOWN
    return number(verdict.ratio.median) + mark(verdict)


def mark(verdict: Verdict) -> str:
    """What a table has beside a figure, or a ratio, that was compared; empty: it differs."""
    return OF_TWO_MODES if verdict.has_no_size else _MARKS[verdict.verdict]


def ratio_of(verdict: Verdict) -> str:
    """How many times the baseline's figure a case has: `5.00`, or of two modes `7.62–11.5`."""
    if verdict.ratio is None:
        return UNKNOWN
    if verdict.has_no_size:
        return ratio_interval(verdict.ratio)
    return ratio(verdict.ratio.median)


def spread_of(verdict: Verdict) -> str:
    """What stands beside `ratio_of`: the interval, or that the ratio has two modes."""
    if verdict.ratio is None:
        return UNKNOWN
    return "two modes" if verdict.has_no_size else ratio_interval(verdict.ratio)


def size(size_bytes: float) -> str:
    """`1 B`, `100 kB`, `1 MB`, `86.1 kB`."""
    for scale, unit in ((1e6, "MB"), (1e3, "kB")):
        if size_bytes >= scale:
            scaled = size_bytes / scale
            return f"{int(scaled) if scaled == int(scaled) else number(scaled)} {unit}"
    return f"{int(size_bytes) if size_bytes == int(size_bytes) else number(size_bytes)} B"
