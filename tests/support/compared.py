"""Results made of plain numbers, for tests of what changed between two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from tests.support.small_result import CASE, RESULT

from tinygram_bench.model.result import Result, Run

MESSAGES = 1_000
BASE = replace(RESULT, host="here", runs=(), summaries=(), verdicts=())


def compared_result(
    values: Mapping[str, Sequence[float]],
    writes: Mapping[str, Sequence[int]] | None = None,
    **changes: Any,
) -> Result:
    """A result of flat-out cases: strategy → messages/s in each round, and writes in each."""
    cases = {name: replace(CASE, case_id=f"stream/{name}", strategy=name) for name in values}
    runs = tuple(
        Run(
            case_id=cases[name].case_id,
            round=number,
            counters={
                "messages": MESSAGES,
                "bytes": 250 * MESSAGES,
                "run_time_ns": round(MESSAGES / per_s * 1e9),
                **({"writes": writes[name][number]} if writes and name in writes else {}),
            },
            histograms={},
        )
        for name, rounds in values.items()
        for number, per_s in enumerate(rounds)
    )
    plan = replace(BASE.plan, cases=tuple(cases.values()), rounds=max(map(len, values.values())))
    return replace(BASE, plan=plan, runs=runs, **changes)
