"""Why two cases differ, in words: one sentence for each pair, with what was counted and timed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from tinygram_bench.model.result import Case, Result, Verdict
from tinygram_bench.report.document import Reason
from tinygram_bench.report.numbers import ratio_of
from tinygram_bench.report.prose import load_names
from tinygram_bench.report.why.clauses import arrival_clause, cpu_clause, evidence_clause
from tinygram_bench.statistics.figures.words import in_words, rounded_up
from tinygram_bench.statistics.one_way import is_of_two_clocks
from tinygram_bench.statistics.verdicts.why.pairs import Why, whys_of
from tinygram_bench.statistics.workloads import WORKLOADS
from tinygram_bench.statistics.workloads.loads import Load, way_of

_VERBS = {"throughput_per_s": "sends", "calls_per_s": "makes"}
"""Figures that mean a number of messages, or calls, in the same time."""


def reasons_of(
    result: Result,
    named: Collection[tuple[str, str]] | None = None,
    where: Callable[[Case], str] | None = None,
) -> tuple[Reason, ...]:
    """A reason for each pair about which something is known, with its load where there are several.

    `named`: (baseline, case) of pairs that the answer names; None: it names all. `where`: the name
    of a case's load, in place of the usual one; empty: the load need not be told.
    """
    where = where or partial(_load_among, load_names(result))
    found = []
    for each in whys_of(result):
        text = sentence(each)
        pair = (each.baseline.case_id, each.case.case_id)
        if text is not None:
            if name := where(each.case):
                text = f"{name[:1].upper()}{name[1:]}: {text}"
            found.append(Reason(*pair, text, named is not None and pair not in named))
    return tuple(found)


def _load_among(names: Mapping[Load, str], case: Case) -> str:
    return names[Load.of(case)] if len(names) > 1 else ""


def sentence(why: Why) -> str | None:
    """A sentence on what differs, and its parts; None where no part is known."""
    clauses = [
        clause
        for clause in (cpu_clause(why), arrival_clause(why), evidence_clause(why))
        if clause is not None
    ]
    if not clauses:
        return None
    verdict = next((each for each in why.verdicts if each.ratio is not None), None)
    # There is no verdict on times, but counts do not depend on what else the host did.
    head = _names(why) if verdict is None else _head(why, verdict)
    return f"{head}: {'; '.join(clauses)}."


def _head(why: Why, verdict: Verdict) -> str:
    verb = _VERBS.get(verdict.figure, "has")
    of = WORKLOADS[why.case.workload].unit if verdict.figure in _VERBS else in_words(verdict.figure)
    case, baseline = _name(why.case, why.baseline), _name(why.baseline, why.case)
    head = f"{case} {verb} {ratio_of(verdict)} × the {of} of {baseline}"
    if why.bound_us and is_of_two_clocks(verdict.figure):
        head += f" (clocks ± {rounded_up(why.bound_us)} µs)"
    return head


def _names(why: Why) -> str:
    names = f"{_name(why.case, why.baseline)} against {_name(why.baseline, why.case)}"
    return f"{names}, whatever their times"


def _name(case: Case, other: Case) -> str:
    return WORKLOADS[case.workload].name_beside(case, other) or way_of(case)
