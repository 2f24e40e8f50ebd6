"""Results for Python programs: as frames, and as Altair charts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import msgspec

from tinygram_bench.host.packages import check_charts
from tinygram_bench.model import result as stored
from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError
from tinygram_bench.statistics.one_way import bound_on, bound_us

Library = Literal["polars", "pandas"]
_LIBRARIES: tuple[Library, ...] = ("polars", "pandas")
_FRAMES_REMEDY = "pip install 'tinygram[frames]'"

Row = dict[str, Any]


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

    def frame(self, name: str, library: str | None = None) -> Any:
        """A table of the result, as a frame of polars or pandas, whichever is installed.

        `name`: `summaries`, a row for each figure of each case with `median`, `low` and `high`, and
        between two hosts `clock_bound_us`, by which their clocks may be wrong in it;
        `verdicts`, a row for each comparison; or `runs`, a row for each run with its raw counters.
        Columns are named as in the result file, units last; unknown values are null. `library`:
        `polars` or `pandas`; None: whichever is installed. Raises UsageError for an unknown name or
        library, and where no such library, or no narwhals, is installed.
        """
        if name not in _TABLES:
            raise UsageError(f"no frame {name!r}: the known ones are {', '.join(_TABLES)}")
        return _framed(_TABLES[name](self.stored), _library(library))

    def charts(self) -> tuple[str, ...]:
        """The names of the charts, in the order of the page that `tinygram report` writes.

        Raises UsageError where the extra `report` is missing.
        """
        return tuple(_charts(self.stored))

    def chart(self, name: str) -> Any:
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

        return altair.Chart.from_dict(found[fitting[0]].file_spec())


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result file, or a page that `tinygram report --html` wrote.

    Raises UsageError where the file is neither, cannot be read, or has a later schema version.
    """
    return Result(store.load(Path(path)))


def _charts(result: stored.Result) -> Mapping[str, Any]:
    check_charts()
    # This module imports altair.
    from tinygram_bench.report.charts import charts_of

    return {each.name: each for each in charts_of(result)}


def _library(asked: str | None) -> Library:
    if asked is not None and asked not in _LIBRARIES:
        raise UsageError(f"no frames of {asked!r}: the known ones are {', '.join(_LIBRARIES)}")
    wanted = [each for each in _LIBRARIES if asked in (None, each)]
    found = next((each for each in wanted if find_spec(each) is not None), None)
    if found is None or find_spec("narwhals") is None:
        needed = " or ".join(wanted)
        raise UsageError(f"frames need narwhals and {needed}: {_FRAMES_REMEDY}")
    return found


def _framed(rows: Sequence[Row], library: Library) -> Any:
    import narwhals

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    return narwhals.from_dict(columns, backend=library).to_native()


def _summaries(result: stored.Result) -> list[Row]:
    has_clocks = any(bound_us(each.figures) for each in result.summaries)
    return [
        {
            **_case_columns(each.case),
            "rounds": each.rounds,
            "failed_rounds": each.failed_rounds,
            "confidence": each.confidence,
            "figure": name,
            **_interval(figure),
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
            **{f"ratio_{name}": value for name, value in _interval(each.ratio).items()},
            "reason": each.reason,
        }
        for each in result.verdicts
    ]


def _runs(result: stored.Result) -> list[Row]:
    return [
        {"case_id": each.case_id, "round": each.round, "failure": each.failure, **each.counters}
        for each in result.runs
    ]


_TABLES: Mapping[str, Callable[[stored.Result], list[Row]]] = {
    "summaries": _summaries,
    "verdicts": _verdicts,
    "runs": _runs,
}


def _case_columns(case: stored.Case) -> Row:
    """All fields of a case but the parameters of its workload; message sizes take two columns."""
    columns = msgspec.structs.asdict(case)
    sizes = columns.pop("message_bytes")
    columns.pop("parameters")
    return {**columns, "message_bytes_min": sizes.min, "message_bytes_max": sizes.max}


def _interval(figure: stored.Figure | None) -> Row:
    if figure is None:
        return dict.fromkeys(("median", "low", "high"))
    return {"median": figure.median, "low": figure.low, "high": figure.high}
