"""A difference and its parts, which with what is unexplained add up to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from msgspec import Struct

from tinygram_bench.model.result import Figure
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.figures.spent import Spent


class Part(Struct, frozen=True):
    """One part of a difference, in µs: the medians of both cases, and case − baseline."""

    baseline_us: float
    case_us: float
    difference: Figure

    @property
    def width_us(self) -> float:
        """How far the ends of the difference's interval are apart."""
        return self.difference.high - self.difference.low


class Account(Struct, frozen=True):
    """Case − baseline, in µs per message, call or sample, from the rounds that both have.

    `baseline_us` and `case_us`: the medians of these rounds, in all. `vague`: parts whose interval
    is wider than the difference, which are not told. `unexplained`: what the other parts leave
    over; its median and those of the parts add up to the difference's.
    """

    baseline_us: float
    case_us: float
    difference: Figure
    parts: Mapping[str, Part]
    unexplained: Figure
    vague: frozenset[str] = frozenset()

    @property
    def explained_share(self) -> float:
        """1 where the parts add up to the difference, 0 where they miss it by all of it or more."""
        return max(0.0, 1 - abs(self.unexplained.median / self.difference.median))

    @property
    def is_accounted_for(self) -> bool:
        """Whether the parts explain any of it: they miss the difference by at most all of it."""
        return abs(self.unexplained.median) <= abs(self.difference.median)

    @property
    def is_rest_shown(self) -> bool:
        """Whether the rounds tell what is unexplained from nothing: its interval excludes 0."""
        return not self.unexplained.low <= 0 <= self.unexplained.high


def account(
    baseline: Mapping[int, Spent], case: Mapping[int, Spent], looks: int = 1
) -> Account | None:
    """The account of two cases, each given as round → what its run spent.

    It has the parts that every run has, and that the rounds know well enough. None where no round
    has both, or where the interval of the difference encloses 0. `looks`: at how many looks the
    plan may end.
    """
    rounds = [number for number in case if number in baseline]
    if not rounds:
        return None
    pairs = [(baseline[number], case[number]) for number in rounds]
    differences = [_difference_us(before, after) for before, after in pairs]
    difference = figure_of(differences, looks)
    if difference.low <= 0 <= difference.high:
        return None
    found = {
        name: _part(
            [(before.parts_us[name], after.parts_us[name]) for before, after in pairs], looks
        )
        for name in pairs[0][0].parts_us
        if all(name in each.parts_us for pair in pairs for each in pair)
    }
    parts = {name: part for name, part in found.items() if part.width_us <= abs(difference.median)}
    rest = figure_of(
        [
            whole - sum(after.parts_us[name] - before.parts_us[name] for name in parts)
            for whole, (before, after) in zip(differences, pairs, strict=True)
        ],
        looks,
    )
    left = difference.median - sum(part.difference.median for part in parts.values())
    return Account(
        baseline_us=median(before.total_us for before, _ in pairs),
        case_us=median(after.total_us for _, after in pairs),
        difference=difference,
        parts=parts,
        # Medians do not add up by themselves: the rest is what is left of them.
        unexplained=Figure(left, min(left, rest.low), max(left, rest.high)),
        vague=frozenset(found.keys() - parts.keys()),
    )


def _difference_us(before: Spent, after: Spent) -> float:
    """case − baseline of a round: cycle by cycle where samples alternate, as verdicts have it."""
    if len(before.cycles_us) == len(after.cycles_us):
        known_us = [
            above - below
            for below, above in zip(before.cycles_us, after.cycles_us, strict=True)
            if below is not None and above is not None
        ]
        if known_us:
            return median(known_us)
    return after.total_us - before.total_us


def _part(values_us: Sequence[tuple[float, float]], looks: int) -> Part:
    """`values_us`: the baseline's and the case's, round by round."""
    return Part(
        baseline_us=median(before for before, _ in values_us),
        case_us=median(after for _, after in values_us),
        difference=figure_of([after - before for before, after in values_us], looks),
    )
