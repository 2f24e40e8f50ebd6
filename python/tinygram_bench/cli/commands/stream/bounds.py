"""What does not go together in `tinygram stream`; each refusal names the remedy."""

from __future__ import annotations

from collections.abc import Mapping

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Plan
from tinygram_bench.runs.slices import MOST_SLICES


def refuse(is_given: bool, fault: str) -> None:
    """Raises UsageError with this fault."""
    if is_given:
        raise UsageError(fault)


def refuse_with(option: str, others: Mapping[str, object], reason: str) -> None:
    """Raises UsageError where one of the other options is given, which do not go with `option`."""
    for other, value in others.items():
        refuse(bool(value), f"{option} cannot be combined with {other}: {reason}")


def check_slices_told(plan: Plan) -> None:
    """Raises UsageError where a sender on another host cannot be told as many slices."""
    for case in plan.cases:
        asked = StreamParameters.of(case)
        if asked.direction != "reverse" or asked.slice_ns is None:
            continue
        slices = (asked.duration_ns or 0) // asked.slice_ns
        refuse(
            slices > MOST_SLICES,
            f"a sender on the far host can be told {MOST_SLICES:,} slices, and --duration has "
            f"{slices:,}: name a shorter --duration, a longer --slice, or more --rounds",
        )
