"""How the ways of `sizes` compare with the one that was named first, over all cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygram_bench.model.result import Result, Verdict
from tinygram_bench.report.numbers import ratio_of, spread_of
from tinygram_bench.report.workloads.sizes.names import cell_name, way_name


def _by_ways(result: Result) -> Mapping[tuple[str, str], Sequence[Verdict]]:
    """(way, the way that was named first) → the verdicts on all their cells."""
    cases = {case.case_id: case for case in result.plan.cases}
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in result.verdicts:
        case, baseline = cases[verdict.case_id], cases[verdict.baseline_case_id]
        found.setdefault((way_name(case), way_name(baseline)), []).append(verdict)
    return found


def _most(verdicts: Sequence[Verdict], word: str) -> Verdict | None:
    """The verdict of that word whose ratio is the furthest from 1; None where there is none."""
    those = [each for each in verdicts if each.verdict == word]
    return max(
        those, key=lambda each: abs(each.ratio.median - 1) if each.ratio else 0, default=None
    )


def most_different(result: Result) -> frozenset[tuple[str, str]]:
    """(baseline, case) of the pairs that the answer names."""
    return frozenset(
        (most.baseline_case_id, most.case_id)
        for verdicts in _by_ways(result).values()
        for word in ("slower", "faster")
        for most in [_most(verdicts, word)]
        if most is not None
    )


def on_ways(result: Result) -> list[str]:
    """How each way compares with the first one: the cells that differ most, and doubts."""
    cases = {case.case_id: case for case in result.plan.cases}
    sentences = []
    for (name, baseline_name), verdicts in _by_ways(result).items():
        parts = []
        for word in ("slower", "faster"):
            those = [each for each in verdicts if each.verdict == word]
            most = _most(verdicts, word)
            if most is not None:
                parts.append(
                    f"{word} in {len(those)} of {len(verdicts)} cells, most at "
                    f"{cell_name(cases[most.case_id])}: {ratio_of(most)} × ({spread_of(most)})"
                )
        doubts = [each for each in verdicts if each.verdict == "cannot_say"]
        if doubts:
            parts.append(
                f"it cannot be said of {len(doubts)} of {len(verdicts)} cells: {doubts[0].reason}"
            )
        what = "; ".join(parts) or f"no difference shown in {len(verdicts)} cells"
        sentences.append(f"{name}, against {baseline_name}: {what}.")
    return sentences
