"""Two results compared in a Python program, as `tinygram compare` compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

from tinygram_bench.api.frames import Library, Row, case_columns, figure_columns, framed
from tinygram_bench.api.results import Result
from tinygram_bench.cli.bounds import one_of
from tinygram_bench.cli.comparing import checked_comparison, gated
from tinygram_bench.cli.stored import made_of
from tinygram_bench.model.errors import UsageError
from tinygram_bench.report.comparing import answer, differences_told
from tinygram_bench.statistics.changes.change import Change, Passed
from tinygram_bench.statistics.changes.comparison import KINDS, Gate
from tinygram_bench.statistics.changes.comparison import Comparison as Compared

if TYPE_CHECKING:
    import pandas
    import polars

_BEFORE, _AFTER = "the result before", "the result after"


class Comparison:
    """What changed between two results. `compare` makes it; it does not change.

    `answer`: the sentences that say what changed, and what the gate says. `differences`: what
    differs in how both were measured, in words. `passed`: what the gate says: `passes`, `fails`
    where a figure is shown to be worse by more than was allowed, or a case fails that did not
    before, and `cannot_say`; None: no gate was asked for. `changes`: each figure of each case that
    both results have, the surest and largest change first. Each has its `case`, `figure`, `kind`
    (`times` or `counts`), `before` and `after` with `median`, `low` and `high`, their `ratio`
    (after ÷ before; None: there is none), `shown` (`worse`, `better`, `not_shown`, `cannot_say`),
    and as `reason` why it cannot be said.
    """

    def __init__(self, compared: Compared, passed: Passed | None, told: tuple[str, ...]) -> None:
        """Wrap what statistics found; `told`: what the gate says. Programs call `compare`."""
        self.changes: tuple[Change, ...] = compared.changes
        self.passed = passed
        self.answer: tuple[str, ...] = (*answer(compared), *told)
        self.differences: tuple[str, ...] = differences_told(compared.hindrances, compared.others)

    @overload
    def frame(self, library: Literal["polars"]) -> polars.DataFrame: ...
    @overload
    def frame(self, library: Literal["pandas"]) -> pandas.DataFrame: ...
    @overload
    def frame(self, library: Library | None = None) -> polars.DataFrame | pandas.DataFrame: ...
    def frame(self, library: Library | None = None) -> polars.DataFrame | pandas.DataFrame:
        """The changes as a frame of polars or pandas: a row for each figure of each case.

        Columns are those of a case in `Result.frame`, `figure`, `kind`, `shown`, `reason`, and with
        the endings `_median`, `_low` and `_high` what the figure was `before` and is `after`, and
        their `ratio`. `library` and errors as for `Result.frame`.
        """
        return framed([_row(each) for each in self.changes], library)


def compare(
    before: Result,
    after: Result,
    *,
    fail_above: float | None = None,
    gate: Gate = "both",
    anyway: bool = False,
) -> Comparison:
    """Say what changed between two results, figure by figure, and how sure that is.

    `fail_above`: the share by which a figure may be worse, such as 0.05 for 5 %; the comparison
    then says in `passed` whether one is. `gate`: what is compared: `times`, `counts` or `both`.
    `anyway`: compare even where host, kernel, settings or parameters differ.

    Raises UsageError where the results are not comparable or have no figure in common, with the
    text of `tinygram compare`, and for an unknown `gate` or a negative `fail_above`.
    """
    one_of("gate", gate, KINDS)
    if fail_above is not None and not fail_above >= 0:
        raise UsageError(
            f"fail_above={fail_above!r} is not a share: name one that is 0 or more, such as 0.05"
        )
    earlier, later = before.stored, after.stored
    with made_of(_BEFORE, _AFTER):
        compared = checked_comparison(_BEFORE, earlier, _AFTER, later, gate, is_anyway=anyway)
        passed, told = gated(compared, gate, fail_above)
        return Comparison(compared, passed, told)


def _row(change: Change) -> Row:
    return {
        **case_columns(change.case),
        "figure": change.figure,
        "kind": change.kind,
        "shown": change.shown,
        "reason": change.reason,
        **figure_columns(change.before, "before_"),
        **figure_columns(change.after, "after_"),
        **figure_columns(change.ratio, "ratio_"),
    }
