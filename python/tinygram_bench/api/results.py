"""Results for Python programs: as frames, and as Altair charts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from tinygram_bench.api.frames import Library, Row, case_columns, figure_columns, framed
from tinygram_bench.host.packages import check_charts
from tinygram_bench.model import result as stored
from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError
from tinygram_bench.statistics.one_way import bound_on, bound_us

if TYPE_CHECKING:
    import altair
    import pandas
    import polars

    from tinygram_bench.report.charts.chart import Chart

Table = Literal["summaries", "verdicts", "runs"]


class Result:
    """The outcome of a measurement, just made or loaded from a file. It does not change.

    `stored`: the whole result, as the result file has it (`tinygram schema` prints its schema).
    """

    def __init__(self, stored: stored.Result) -> None:
        """Wrap a stored result, which is what a result file holds or would hold."""
        self.stored = stored

    @property
    def answer(self) -> tuple[str, ...]:
        """The sentences that say what was found."""
        return self.stored.answer

    @overload
    def frame(self, name: Table, library: Literal["polars"]) -> polars.DataFrame: ...
    @overload
    def frame(self, name: Table, library: Literal["pandas"]) -> pandas.DataFrame: ...
    @overload
    def frame(
        self, name: Table, library: Library | None = None
    ) -> polars.DataFrame | pandas.DataFrame: ...
    def frame(
        self, name: Table, library: Library | None = None
    ) -> polars.DataFrame | pandas.DataFrame:
        """A table of the result, as a frame of polars or pandas, whichever is installed.

        `name`: `summaries`, a row for each figure of each case with `median`, `low` and `high`, and
        between two hosts `clock_bound_us`, by which their clocks may be wrong in it;
        `verdicts`, a row for each comparison; or `runs`, a row for each run with its raw counters.
        Columns are named as in the result file, units last; unknown values are null. `library`:
        `polars` or `pandas`, which also tells a type checker what is returned; None: whichever is
        installed. Raises UsageError for an unknown name or library, and where no such library, or
        no narwhals, is installed.
        """
        if name not in _TABLES:
            raise UsageError(f"no frame {name!r}: the known ones are {', '.join(_TABLES)}")
        return framed(_TABLES[name](self.stored), library)

    def charts(self) -> tuple[str, ...]:
        """The names of the charts, in the order of the page that `tinygram report` writes.

        Raises UsageError where the extra `report` is missing.
        """
        return tuple(_charts(self.stored))

    def chart(self, name: str) -> altair.LayerChart:
        """An Altair chart, as `tinygram report --svg` draws it.

        `name`: one of `charts`, such as `latency-percentiles`, or a part that only one of these
        names has. Raises UsageError, which lists the charts that there are, for another name, and
        UsageError where the extra `report` is missing.
        """
        found = _charts(self.stored)
        fitting = [name] if name in found else [each for each in found if name in each]
        if len(fitting) != 1:
            fault = "is in several charts' names of this" if fitting else "is no chart of this"
            raise UsageError(
                f"{name!r} {fault} result: there are {', '.join(fitting or found) or 'none'}"
            )
        import altair

        return altair.LayerChart.from_dict(found[fitting[0]].file_spec())


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result file, or a page that `tinygram report --html` wrote.

    Raises UsageError where the file is neither, cannot be read, or has a later schema version.
    """
    return Result(store.load(Path(path)))


def _charts(result: stored.Result) -> Mapping[str, Chart]:
    check_charts()
    # This module imports altair.
    from tinygram_bench.report.charts import charts_of

    return {each.name: each for each in charts_of(result)}


def _summaries(result: stored.Result) -> list[Row]:
    has_clocks = any(bound_us(each.figures) for each in result.summaries)
    return [
        {
            **case_columns(each.case),
            "rounds": each.rounds,
            "failed_rounds": each.failed_rounds,
            "confidence": each.confidence,
            "figure": name,
            **figure_columns(figure),
            **({"clock_bound_us": bound_on(each.figures, name)} if has_clocks else {}),
        }
        for each in result.summaries
        for name, figure in each.figures.items()
    ]


def _verdicts(result: stored.Result) -> list[Row]:
    return [
        {
            "baseline_case_id": each.baseline_case_id,
            "case_id": each.case_id,
            "figure": each.figure,
            "verdict": each.verdict,
            **figure_columns(each.ratio, "ratio_"),
            "reason": each.reason,
        }
        for each in result.verdicts
    ]


def _runs(result: stored.Result) -> list[Row]:
    return [
        {"case_id": each.case_id, "round": each.round, "failure": each.failure, **each.counters}
        for each in result.runs
    ]


_TABLES: Mapping[Table, Callable[[stored.Result], list[Row]]] = {
    "summaries": _summaries,
    "verdicts": _verdicts,
    "runs": _runs,
}
