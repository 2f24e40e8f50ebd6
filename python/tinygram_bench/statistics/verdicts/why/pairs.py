"""The pairs of a result that differ, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.model.result import Case, Result, Run, Verdict
from tinygram_bench.statistics.figures.intervals import looks_of
from tinygram_bench.statistics.figures.samples import good_runs
from tinygram_bench.statistics.figures.spent import Spent
from tinygram_bench.statistics.one_way import bound_us
from tinygram_bench.statistics.verdicts.why.account import Account, account
from tinygram_bench.statistics.verdicts.why.evidence import Evidence, evidence_of
from tinygram_bench.statistics.workloads import WORKLOADS, Spending

DIFFERENT = ("faster", "slower")


class Why(Struct, frozen=True):
    """Why a case differs from its baseline.

    `verdicts`: those on the figures in which the two are shown to differ, in the order of the
    result. `cpu` and `arrival`: the accounts, None where there is nothing to explain or nothing was
    measured. `bound_us`: by how much the clocks of two hosts may be wrong in the two latencies; 0:
    one clock timed them.
    """

    baseline: Case
    case: Case
    verdicts: tuple[Verdict, ...]
    cpu: Account | None
    arrival: Account | None
    baseline_evidence: Evidence
    case_evidence: Evidence
    bound_us: float = 0.0


def whys_of(result: Result) -> tuple[Why, ...]:
    """Every compared pair that is shown to differ in some figure, in the order of the verdicts.

    Pairs of which nothing can be said, or no size, are among them, without accounts of their times:
    what was counted is evidence, on a busy host too.
    """
    cases = {case.case_id: case for case in result.plan.cases}
    runs = good_runs(result)
    pairs: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in result.verdicts:
        of_pair = pairs.setdefault((verdict.baseline_case_id, verdict.case_id), [])
        if verdict.verdict in (*DIFFERENT, "cannot_say"):
            of_pair.append(verdict)
    looks = looks_of(result.plan)
    bounds_us = {each.case.case_id: bound_us(each.figures) for each in result.summaries}
    found = []
    for (baseline, case), verdicts in pairs.items():
        shown = [each for each in verdicts if each.verdict in DIFFERENT]
        has_size = any(not each.has_no_size for each in shown)
        if verdicts:
            each = why(cases[baseline], cases[case], runs[baseline], runs[case], shown, looks)
            each = replace(each, bound_us=max(bounds_us[baseline], bounds_us[case]))
            found.append(each if has_size else replace(each, cpu=None, arrival=None))
    return tuple(found)


def why(
    baseline: Case,
    case: Case,
    baseline_runs: Sequence[Run],
    case_runs: Sequence[Run],
    verdicts: Sequence[Verdict] = (),
    looks: int = 1,
) -> Why:
    """Why one case differs from another, by their good runs."""
    workload = WORKLOADS[case.workload]

    def accounted(spent: Spending | None) -> Account | None:
        if spent is None:
            return None
        return account(
            dict(_by_round(spent, baseline, baseline_runs)),
            dict(_by_round(spent, case, case_runs)),
            looks,
        )

    return Why(
        baseline,
        case,
        tuple(verdicts),
        accounted(workload.cpu_spent),
        accounted(workload.arrival_spent),
        evidence_of(baseline, baseline_runs),
        evidence_of(case, case_runs),
    )


def _by_round(spent: Spending, case: Case, runs: Sequence[Run]) -> Iterator[tuple[int, Spent]]:
    for run in runs:
        if (found := spent(case, run)) is not None:
            yield run.round, found
