"""When the far clock is looked at: before a run, after it, and in between at no cost for it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tinygram_bench import Plan, run
from tinygram_bench.hosts import clock
from tinygram_bench.hosts.clock import Clock
from tinygram_bench.hosts.difference import Followed

PACED = {"rate": [1_000], "only": ["loop/nodelay", "loop/cork"]}
PUBLISHED = {"rate": [100], "only": ["asyncio/protocol"], "subscribers": [5]}
LOADS: dict[str, tuple[Any, dict[str, Any]]] = {
    "in slices": (Plan.stream, PACED),
    "in reverse, in slices": (Plan.stream, {**PACED, "reverse": True}),
    "alone": (Plan.stream, {**PACED, "lone": True}),
    "fan-out in slices": (Plan.fanout, PUBLISHED),
    "fan-out alone": (Plan.fanout, {**PUBLISHED, "lone": True}),
}


@pytest.mark.parametrize("load", LOADS)
def test_every_run_lies_between_looks_and_has_some_in_between(
    server: str, load: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "_ALONE_EVERY_S", 0.1)
    between_ns: list[int] = []
    seen: list[tuple[int, list[int]]] = []
    look_between, followed = Clock.look_between, Clock.followed

    def looked_between(asked: Clock, until_ns: int, latest_ns: int | None = None) -> None:
        # Counted here, since on a busy host not every look is kept.
        between_ns.append(time.monotonic_ns())
        look_between(asked, until_ns, latest_ns)

    def difference(asked: Clock, since_ns: int) -> Followed:
        seen.append((since_ns, [look.at_ns for look in asked._looks]))
        return followed(asked, since_ns)

    monkeypatch.setattr(Clock, "look_between", looked_between)
    monkeypatch.setattr(Clock, "followed", difference)
    plan, options = LOADS[load]
    asked = plan(**options, duration=500_000_000, rounds=1, server=server)
    runs = run(asked).stored.runs
    assert [each.failure for each in runs] == [None] * len(runs)
    assert len(seen) == len(runs)
    for start_ns, at_ns in seen:
        assert at_ns[0] <= start_ns
        assert len([at for at in between_ns if start_ns < at < at_ns[-1]]) >= 2
