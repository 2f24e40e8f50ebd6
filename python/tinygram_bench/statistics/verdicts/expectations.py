"""Expectations of a result, and whether they were met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from msgspec import Struct

from tinygram_bench.model.result import Result
from tinygram_bench.statistics.figures.samples import samples_of
from tinygram_bench.statistics.verdicts.comparison import paired_ratios

ANY = float("inf")
"""The end of a range without a bound."""


class Expected(Struct, frozen=True):
    """A range, `low` to `high`, for a figure of one variant, or its ratio to that of `over`."""

    figure: str
    of: str
    low: float
    high: float
    over: str | None = None

    @property
    def span(self) -> str:
        if self.high == ANY:
            return f"expected {_number(self.low)} or more"
        if self.low == self.high:
            return f"expected {_number(self.low)}"
        return f"expected {_number(self.low)} … {_number(self.high)}"


class Finding(Struct, frozen=True):
    """The outcome of one expectation; `value` None: not known."""

    expected: Expected
    value: float | None

    @property
    def is_as_expected(self) -> bool:
        return self.value is not None and self.expected.low <= self.value <= self.expected.high

    @property
    def is_known(self) -> bool:
        """Whether there is a value: the kernel's counts are not known on the host's network."""
        return self.value is not None

    @property
    def text(self) -> str:
        expected = self.expected
        what = f"{expected.figure} of {expected.of}"
        if expected.over is not None:
            what += f" ÷ that of {expected.over}"
        span = expected.span
        if self.value is None:
            return f"{what}: not known here ({span})"
        verdict = "as expected" if self.is_as_expected else "OUT OF RANGE"
        return f"{what}: {_number(self.value)}, {verdict} ({span})"


def findings(
    expectations: Iterable[Expected], case_ids: Mapping[str, str], result: Result
) -> tuple[Finding, ...]:
    """The outcome of each expectation; medians over the rounds. `case_ids`: variant → its case.

    A ratio is formed round by round: what drifts over the rounds is in both of its values.
    """
    by_id = {summary.case.case_id: summary for summary in result.summaries}
    samples = samples_of(result.plan, result.runs)

    def value_of(variant: str, figure: str) -> float | None:
        found = by_id[case_ids[variant]].figures.get(figure)
        return None if found is None else found.median

    found = []
    for expected in expectations:
        if expected.over is None:
            value = value_of(expected.of, expected.figure)
        else:
            base, own = (samples[case_ids[each]] for each in (expected.over, expected.of))
            ratios = paired_ratios(base.values(expected.figure), own.values(expected.figure))
            value = median(ratios) if ratios else None
        found.append(Finding(expected, value))
    return tuple(found)


def _number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0") if value >= 100 else f"{value:.3g}"
