"""Processes of a group get ready side by side, and each sender's only when its receiver listens."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runs.test_turns import case_of

from tinygram_bench.model.result import Case
from tinygram_bench.runs.bench import running
from tinygram_bench.runs.stage import Turn
from tinygram_bench.workloads.stream.run import Stream

SLICE_NS = 20_000_000
WAYS = ("loop/stdlib/nodelay", "loop/tinygram/nodelay", "loop/tinygram/tick")
STEPS = ("start_far", "listen", "start_near", "warmed_up")


def test_receivers_start_together_and_senders_after_their_own_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = [case_of(way, duration_ns=10 * SLICE_NS, slice_ns=SLICE_NS) for way in WAYS]
    done: list[tuple[str, Case, list[str]]] = []

    def noted(name: str) -> Any:
        step = getattr(Stream, name)

        def noting(self: Stream, turn: Turn, *rest: Any) -> Any:
            value = step(self, turn, *rest)
            roles = [child.process.role for child in turn.stage.children]
            done.append((name, turn.case, roles))
            return value

        return noting

    for name in STEPS:
        monkeypatch.setattr(Stream, name, noted(name))
    with running(Stream(1)) as bench:
        runs = bench.run_cases(cases, 0)
    assert [run.failure for run in runs] == [None] * len(cases)
    ends = [role for step, _, roles in done if step == "listen" for role in roles]
    assert ends == ["receiver"] * len(cases)
    assert [(name, case) for name, case, _ in done] == [
        *(("start_far", case) for case in cases),
        *((step, case) for case in cases for step in ("listen", "start_near")),
        *(("warmed_up", case) for case in cases),
    ]
    assert all(roles == ["receiver", "sender"] for step, _, roles in done if step == "start_near")
