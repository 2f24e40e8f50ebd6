"""`tinygram compare`: what changed between two results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, cast

import typer

from tinygram_bench.cli import quantities, stored
from tinygram_bench.cli.bounds import one_of
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.terminal import console
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Result
from tinygram_bench.report.comparing import fails_told, said, write_comparison
from tinygram_bench.report.prose import first_of, listed
from tinygram_bench.report.table import Pen
from tinygram_bench.statistics.changes.change import Passed
from tinygram_bench.statistics.changes.comparison import (
    KINDS,
    Comparison,
    Gate,
    compare_results,
)

_CODES: Mapping[Passed, ExitCode] = {
    "passes": ExitCode.OK,
    "fails": ExitCode.REGRESSION,
    "cannot_say": ExitCode.INCONCLUSIVE,
}
"""What a gate says → the exit status."""


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The result to compare with.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The result to judge.")],
    fail_above: Annotated[
        float | None,
        quantities.share(
            "Exit 3 where a figure is shown to be worse by more than this, for example 5%, and 4 "
            "where it cannot be said whether one is."
        ),
    ] = None,
    gate: Annotated[
        str,
        typer.Option(
            metavar="GATE",
            help="What is compared: times, counts (writes, segments, bytes, TLS records and, where "
            "the machine counts them, instructions of each message, which depend on the host only "
            "where time decides which messages leave together), or both.",
        ),
    ] = "both",
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway", help="Compare even where host, kernel, settings or parameters differ."
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", help="With --fail-above: print nothing unless the gate fails or cannot say."
        ),
    ] = False,
) -> int:
    """Say what changed between two results, figure by figure, and how sure that is."""
    one_of("--gate", gate, KINDS)
    asked = cast(Gate, gate)
    if quiet and fail_above is None:
        raise UsageError("--quiet needs --fail-above: without a gate nothing would ever be told")
    earlier, later = stored.load(before), stored.load(after)
    with stored.made_of(before, after):
        comparison = checked_comparison(
            str(before), earlier, str(after), later, asked, is_anyway=anyway
        )
        passed, told = gated(comparison, asked, fail_above)
        code = ExitCode.OK if passed is None else _CODES[passed]
        if not quiet:
            write_comparison(Pen(console()), comparison, told)
        elif code != ExitCode.OK:
            Pen(console()).list(told)
    return code


def checked_comparison(
    before: str, earlier: Result, after: str, later: Result, gate: Gate, *, is_anyway: bool
) -> Comparison:
    """Compare two results, named `before` and `after`, in what the gate looks at.

    Raises UsageError where they are not comparable.
    """
    comparison = compare_results(earlier, later, gate)
    if not comparison.common:
        names = listed(comparison.only_before) if comparison.only_before else "none"
        raise UsageError(
            f"{before} and {after} have no case in common: the first has {names}, the second "
            f"{listed(comparison.only_after) if comparison.only_after else 'none'}; measure both "
            "with the same options, for example by `tinygram rerun`"
        )
    if comparison.hindrances and not is_anyway:
        raise UsageError(
            f"{before} and {after} are not comparable: "
            f"{first_of([str(each) for each in comparison.hindrances], most=12)}; measure both on "
            "the same host, or hosts, in the same manner, or compare them with --anyway"
        )
    if not comparison.changes and not comparison.failing:
        raise UsageError(
            f"{before} and {after} have no finished run with a figure to compare "
            f"(--gate {gate}): measure again"
        )
    return comparison


def gated(
    comparison: Comparison, gate: Gate, fail_above: float | None
) -> tuple[Passed | None, tuple[str, ...]]:
    """What the gate says of the comparison, and in sentences; nothing where none was asked for.

    `fail_above`: the share by which a figure may be worse; None: no gate was asked for.
    """
    if fail_above is None:
        return None, ()
    found = comparison.gated(gate, fail_above)
    limit = f"{100 * fail_above:g}%"
    if comparison.failing:
        # A way that no longer works is worse by any measure.
        clauses = first_of([fails_told(each, comparison.names) for each in comparison.failing])
        return "fails", (f"Shown to be worse by more than {limit}: {clauses}.",)
    if found["fails"]:
        clauses = first_of([said(each, comparison.names) for each in found["fails"]])
        return "fails", (f"Shown to be worse by more than {limit}: {clauses}.",)
    if comparison.only_before:
        names = listed(comparison.only_before)
        return "cannot_say", (f"It cannot be said of cases that are gone: {names}.",)
    unknown, passed = len(found["cannot_say"]), len(found["passes"])
    if unknown:
        clauses = first_of([said(each, comparison.names) for each in found["cannot_say"]])
        told = (
            f"No figure is shown to be worse by more than {limit}, but of {unknown} of "
            f"{unknown + passed} it cannot be said: {clauses}."
        )
        return "cannot_say", (told,)
    return "passes", (f"No figure is worse by more than {limit}.",)
