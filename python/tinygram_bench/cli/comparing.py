"""What the command `compare` and `tinygram_bench.compare` share: compare, refuse and judge."""

from __future__ import annotations

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Result
from tinygram_bench.report.comparing import fails_told, said
from tinygram_bench.report.prose import first_of, listed
from tinygram_bench.statistics.changes.change import Passed
from tinygram_bench.statistics.changes.comparison import Comparison, Gate, compare_results


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
