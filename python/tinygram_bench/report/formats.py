"""Numbers as text: as many digits as a reader can use."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor

from tinygram_bench.model.result import Figure

UNKNOWN = "–"


def number(value: float | None) -> str:
    """Three digits or all whole ones: `0.0043`, `0.25`, `4.05`, `52.1`, `43,991`."""
    if value is None:
        return UNKNOWN
    if value == 0 or abs(value) >= 99.95:
        return f"{value:,.0f}"
    if abs(value) >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


def rate(value: float | None) -> str:
    """Four digits and a power: `950`, `224.2k`, `1.235M`."""
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
    """`low–high` of rates."""
    return UNKNOWN if figure is None else f"{rate(figure.low)}–{rate(figure.high)}"


def ratio(value: float) -> str:
    """A plain number, with a third decimal near 1, where it decides."""
    return f"{value:.3f}" if 0.9 <= value < 1.1 else number(value)


def ratio_interval(figure: Figure) -> str:
    """`low–high` of ratios."""
    return f"{ratio(figure.low)}–{ratio(figure.high)}"


def median(figure: Figure | None) -> str:
    """The figure's median as a plain number."""
    return number(None if figure is None else figure.median)
