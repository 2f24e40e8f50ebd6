"""Which rows a load's tables have, in which order, and what the absent ones say instead."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tinygram_bench.model.result import Case, Result, Summary
from tinygram_bench.report.layout import RowKind
from tinygram_bench.report.names import all_cases
from tinygram_bench.report.outcomes import clear_winners
from tinygram_bench.statistics.loads import Load, is_faulty, is_limit, way_of


@dataclass(frozen=True)
class CaseRow:
    """One case's row. `absence` says why it has no figures; `remark` stands beside its label."""

    case: Case
    label: str
    kind: RowKind
    summary: Summary | None
    absence: str | None = None
    remark: str = ""

    @property
    def heading(self) -> str:
        """What the row's first cell says."""
        return f"{self.label} {self.remark}".rstrip()


def rows_of(result: Result, load: Load) -> tuple[CaseRow, ...]:
    """The load's cases by runtime, then in the plan's order; the limits last."""
    cases = all_cases(result)
    here = [case for case in cases if Load.of(case) == load]
    runtimes = list(dict.fromkeys(case.runtime for case in cases))
    labels = _labels(here)
    summaries = {summary.case.case_id: summary for summary in result.summaries}
    best = {case.case_id for case in clear_winners(result)}
    absent = {unavailable.case.case_id for unavailable in result.plan.unavailable}
    return tuple(
        _row(case, labels[case.case_id], summaries.get(case.case_id), best, absent)
        for case in sorted(here, key=lambda case: (is_limit(case), runtimes.index(case.runtime)))
    )


def _row(
    case: Case, label: str, summary: Summary | None, best: set[str], absent: set[str]
) -> CaseRow:
    if case.case_id in absent:
        return CaseRow(case, label, "absent", None, "unavailable")
    if summary is None or not summary.rounds:
        is_failed = summary is not None and summary.failed_rounds
        return CaseRow(case, label, "absent", summary, "failed" if is_failed else "not run")
    kind: RowKind = "best" if case.case_id in best else "plain"
    remarks = []
    if is_limit(case):
        kind = "limit"
        remarks.append("(limit)")
    if is_faulty(case):
        remarks.append("(faulty)")
    if summary.failed_rounds:
        remarks.append(f"({summary.rounds} of {summary.rounds + summary.failed_rounds})")
    return CaseRow(case, label, kind, summary, remark=" ".join(remarks))


def _labels(cases: list[Case]) -> dict[str, str]:
    """case_id → the way it sends; its case_id where another sends the same way."""
    counts = Counter(way_of(case) for case in cases)
    return {
        case.case_id: way_of(case) if counts[way_of(case)] == 1 else case.case_id for case in cases
    }
