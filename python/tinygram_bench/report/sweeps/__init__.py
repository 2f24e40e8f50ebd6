"""The report of a sweep, made of a stored result: its answer, and a table of all points."""

from __future__ import annotations

from msgspec.structs import replace

from tinygram_bench.model.result import Result
from tinygram_bench.report.document import Document, Section
from tinygram_bench.report.sweeps.sentences import sentences_on
from tinygram_bench.report.sweeps.table import table_on
from tinygram_bench.statistics.sweeps.curves import curves_of, swept_of


def by_value(result: Result) -> Result:
    """The same result, with the cases and summaries of points in the order of their values.

    In the plan they are in the order of choice; cases that belong to no point stay behind them.
    """
    assert result.plan.sweep is not None, "it is asked of a sweep alone"
    ranks = {id_: at for at, point in enumerate(result.plan.sweep.points) for id_ in point.case_ids}
    cases = sorted(result.plan.cases, key=lambda case: ranks.get(case.case_id, len(ranks)))
    summaries = sorted(result.summaries, key=lambda each: ranks.get(each.case.case_id, len(ranks)))
    plan = replace(result.plan, cases=tuple(cases))
    return replace(result, plan=plan, summaries=tuple(summaries))


def with_sweep(document: Document, result: Result) -> Document:
    """The report of a sweep first; the tables of single points are details of it.

    For a condensed result the answer is the stored one: the order of two ways needs slices.
    """
    seen = curves_of if result.is_condensed else swept_of
    swept = seen(result.plan, result.runs, result.summaries)
    return replace(
        document,
        answer=result.answer if result.is_condensed else sentences_on(swept),
        sections=(
            Section("The sweep", (table_on(swept),)),
            *(
                Section(each.title, (), (*each.tables, *each.details), each.remarks)
                for each in document.sections
            ),
        ),
    )
