"""Cases that take turns: one that fails is told by its run, and disturbs no other."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest
from tests.support.plans.stream import planned

from tinygram_bench.host.placement import Placement
from tinygram_bench.host.write_counter import Counting
from tinygram_bench.links import Link
from tinygram_bench.model.result import Case, Run
from tinygram_bench.processes.workers import RunError, Worker
from tinygram_bench.run.group import Group
from tinygram_bench.run.slices import Slices, Used
from tinygram_bench.run.stage import Address, Stage, Turn
from tinygram_bench.run.workload import Exchanged, Rehearsed, Waiting, Workload

MS = 1_000_000
BAD, GOOD = "loop/stdlib/nagle", "loop/stdlib/nodelay"


@dataclass(frozen=True)
class Failing(Workload):
    """A workload without messages, whose case `BAD` fails at `step`."""

    step: str
    workers: dict[str, Worker] = field(default_factory=dict)
    has_bad_ended: list[bool] = field(default_factory=list)

    def own_ns(self, case: Case) -> int:  # noqa: ARG002 - all are as long
        return 2 * MS

    def waits_ns(self, case: Case) -> int:  # noqa: ARG002 - nothing is on its way
        return 0

    def listen(self, turn: Turn) -> None:
        worker = Worker("sender", [sys.executable, "-c", "while True: pass"])
        self.workers[way_of(turn.case)] = turn.stage.stack.enter_context(worker)
        self._fail(turn.case, "listen")

    def exchange(self, turn: Turn, address: Address | None) -> Exchanged:
        raise NotImplementedError

    def rehearsed(self, turn: Turn, address: Address | None) -> Rehearsed:  # noqa: ARG002
        self._fail(turn.case, "rehearsed")
        return Rehearsed()

    def warmed_up(self, turn: Turn, address: Address | None, slices: Slices) -> Waiting:  # noqa: ARG002
        self._fail(turn.case, "warmed_up")

        def start(at_ns: int) -> None:  # noqa: ARG001 - nothing is sent
            self._fail(turn.case, "start")

        def collect(used: Used) -> Exchanged:  # noqa: ARG001 - nothing is counted
            self.has_bad_ended.append(self.workers[BAD].has_ended)
            return Exchanged(Run(turn.case.case_id, turn.round, {}, {}), 0)

        return Waiting((), start, collect)

    def _fail(self, case: Case, step: str) -> None:
        if way_of(case) == BAD and step == self.step:
            raise RunError(f"{step} failed")


def way_of(case: Case) -> str:
    return f"{case.runtime}/{case.implementation}/{case.strategy}"


def runs_of(workload: Workload, cases: Sequence[Case]) -> list[Run]:
    def set_up(stack: ExitStack, case: Case) -> Stage:  # noqa: ARG001 - all have the same
        return Stage(stack, Link(), Placement(None, None), Counting(-1))

    with ExitStack() as stack:
        return Group(workload, cases, 0, 1 * MS).run(stack, set_up)


@pytest.mark.parametrize("first", [BAD, GOOD])
@pytest.mark.parametrize("step", ["listen", "rehearsed", "warmed_up", "start"])
def test_a_case_that_fails_before_its_slices_is_told_and_the_others_run(
    step: str, first: str
) -> None:
    cases = planned("runtime=loop,implementation=stdlib", rates_per_s=[20_000.0], slice_ns=MS).cases
    pair = [case for case in cases if way_of(case) in (BAD, GOOD)]
    pair.sort(key=lambda case: way_of(case) != first)
    workload = Failing(1, step)
    runs = runs_of(workload, pair)
    failures = {way_of(case): run.failure for case, run in zip(pair, runs, strict=True)}
    assert failures == {BAD: f"{step} failed", GOOD: None}
    assert workload.has_bad_ended == [True]
    assert all(worker.has_ended for worker in workload.workers.values())
