"""How figures, shares and ratios are written on the page."""

from __future__ import annotations

from collections.abc import Sequence

from claim.judging.signed_rank import NO_BOUND
from claim.runs import FigureName
from tinygram_bench.model.result import Figure

SHOWN = {
    "sum": "delay + CPU",
    "p50": "p50",
    "p99": "p99",
    "cpu": "CPU",
    "throughput": "throughput",
}


def percent(share: float) -> str:
    """`5 %`, `0.4 %`."""
    number = round(100 * share, 6)
    is_whole = abs(number) >= 10 or number == round(number)
    return f"{number:,.0f} %" if is_whole else f"{number:.1f} %"


def ratio_text(ratio: Figure) -> str:
    """`1.02 (0.97–1.05)`."""
    if ratio.high >= NO_BOUND:
        return f"{ratio.median:.2f} (too few rounds)"
    return f"{ratio.median:.2f} ({ratio.low:.2f}–{ratio.high:.2f})"


def time_text(ns: float) -> str:
    """In µs: `12.3 µs`, `1,234 µs`."""
    return f"{ns / 1_000:,.0f} µs" if ns >= 10_000 else f"{ns / 1_000:.1f} µs"


def told_earlier(name: str, earlier: Sequence[str]) -> str:
    """What was measured of a set before (`ClaimResult.earlier`)."""
    return f"Set *{name}* was measured before: {'; '.join(earlier)}."


def cost_text(figure: FigureName, cost_ns: float) -> str:
    """With its unit: µs of latency, CPU seconds per million messages, messages per second."""
    if figure == "throughput":
        return f"{1e9 / cost_ns / 1e6:.3g} M/s"
    if figure == "cpu":
        return f"{cost_ns / 1_000:.3g} s/M"
    return time_text(cost_ns)
