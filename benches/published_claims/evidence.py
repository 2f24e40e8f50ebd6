"""The figures that a claim rests on, found in the results of the page's commands."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from published import stored

from tinygram_bench import load
from tinygram_bench.model.result import Summary
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.figures.samples import Sample, samples_of
from tinygram_bench.statistics.verdicts.comparison import paired_ratios, verdict_on


class Measured:
    """The result of one of the page's commands."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError where the file is no result."""
        self.result = load(path).stored

    def summary(self, pattern: str) -> Summary:
        """That of the one case whose id fits (fnmatch(3)). Raises SystemExit where not one does."""
        found = [each for each in self.result.summaries if fnmatchcase(each.case.case_id, pattern)]
        if len(found) != 1:
            names = "".join(f"\n  {each.case.case_id}" for each in found or self.result.summaries)
            raise SystemExit(f"{len(found)} cases fit {pattern!r}, and one must:{names}")
        return found[0]

    def sample(self, pattern: str) -> Sample:
        """The good rounds of that case."""
        return self._samples[self.summary(pattern).case.case_id]

    @cached_property
    def _samples(self) -> Mapping[str, Sample]:
        return samples_of(self.result.plan, self.result.runs)


class Value(Struct, frozen=True):
    """A figure of a case; `scale`: what it is multiplied by to have the page's unit."""

    command: str
    figure: str
    case: str
    scale: float = 1

    def __str__(self) -> str:
        return f"*{self.command}*: {self.figure} of {self.case}"

    def of(self, measured: Measured) -> stored.Figure | None:
        """None where the case has no such figure."""
        found = measured.summary(self.case).figures.get(self.figure)
        if found is None:
            return None
        scaled = (found.median * self.scale, found.low * self.scale, found.high * self.scale)
        return stored.Figure(*scaled)


class Ratio(Struct, frozen=True):
    """A case's figure ÷ that of another, as `tinygram` compares them."""

    command: str
    figure: str
    case: str
    baseline: str

    def __str__(self) -> str:
        return f"*{self.command}*: {self.figure} of {self.case} ÷ {self.baseline}"

    def of(self, measured: Measured) -> stored.Figure | None:
        """None where no round has both."""
        baseline, case = (
            (measured.summary(each), measured.sample(each)) for each in (self.baseline, self.case)
        )
        found = verdict_on(self.figure, baseline, case)
        if found.ratio is None:
            return None
        return stored.Figure(
            found.ratio.median,
            found.ratio.low,
            found.ratio.high,
            is_shown=found.verdict in ("faster", "slower") and not found.has_no_size,
            is_doubtful=found.doubt is not None,
        )


class ByRound(Struct, frozen=True):
    """A figure of a case ÷ another one, round by round; for what is in no slice.

    `over` None: the same figure; `baseline` None: of the same case.
    """

    command: str
    figure: str
    case: str
    over: str | None = None
    baseline: str | None = None
    scale: float = 1

    def __str__(self) -> str:
        over = f"{self.over or self.figure} of {self.baseline or 'the same'}"
        return f"*{self.command}*: {self.figure} of {self.case} ÷ {over}"

    def of(self, measured: Measured) -> stored.Figure | None:
        """None where a round lacks one of them."""
        case = measured.sample(self.case)
        baseline = measured.sample(self.baseline or self.case)
        figures = baseline.values(self.over or self.figure), case.values(self.figure)
        ratios = [self.scale * ratio for ratio in paired_ratios(*figures)]
        if not ratios:
            return None
        found = figure_of(ratios)
        is_shown = not found.low <= 1 <= found.high
        return stored.Figure(found.median, found.low, found.high, is_shown=is_shown)


Asked = Value | Ratio | ByRound
Claims = Mapping[str, tuple[Asked, ...]]
"""A section of the page → the figures of its sentences, in their order."""
