"""`tinygram compare`: what changed between two results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, cast

import typer

from tinygram_bench.cli import quantities, stored
from tinygram_bench.cli.bounds import one_of
from tinygram_bench.cli.comparing import checked_comparison, gated
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.terminal import console
from tinygram_bench.model.errors import UsageError
from tinygram_bench.report.comparing import write_comparison
from tinygram_bench.report.table import Pen
from tinygram_bench.statistics.changes.change import Passed
from tinygram_bench.statistics.changes.comparison import KINDS, Gate

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
