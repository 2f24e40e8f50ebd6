"""A host that is lost when cases have warmed up, and wait to be told their start."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from functools import partial

from tests.processes.idle import IdleProcess, IdleTold
from tests.support.plans.stream import planned

from tinygram_bench.host.placement import placement
from tinygram_bench.host.write_counter import counting
from tinygram_bench.links import Link
from tinygram_bench.model.result import Case
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.group import Group
from tinygram_bench.runs.slices import Slices
from tinygram_bench.runs.stage import Address, Stage, Turn
from tinygram_bench.runs.workload import Exchanged, TakesTurns, Waiting

LOST = "the far host was lost"
DISMISSED = "the sender failed with status 1"


class _LosesItsHost(TakesTurns):
    """Its sender was dismissed since the far host was lost, and only that it has ended is seen."""

    def own_ns(self, case: Case) -> int:
        return case.parameters.timeout_ns

    def waits_ns(self, case: Case) -> int:  # noqa: ARG002 - cases do not differ
        return 0

    def listen(self, turn: Turn) -> Address | None:
        ours, theirs = socket.socketpair()
        turn.stack.callback(ours.close)
        turn.stack.callback(theirs.close)
        turn.stage.children.append(IdleTold(IdleProcess("receiver"), ours))
        return None

    def exchange(self, turn: Turn, address: Address | None) -> Exchanged:  # noqa: ARG002
        raise AssertionError("it takes turns")

    def warmed_up(self, turn: Turn, address: Address | None, slices: Slices) -> Waiting:  # noqa: ARG002
        return Waiting((), (), [], partial(self._start, turn), self._collected)

    def _start(self, turn: Turn, _at_ns: int) -> None:
        (far,) = (child.process for child in turn.stage.children)
        assert isinstance(far, IdleProcess)
        far.failure, far.is_cut_off = LOST, True
        raise RunError(DISMISSED)

    def _collected(self, _used: object) -> Exchanged:
        raise AssertionError("it never started")


def test_who_cannot_be_told_its_start_says_which_host_was_lost() -> None:
    case = planned("runtime=loop,strategy=nodelay", rates_per_s=[1_000.0]).cases[0]
    with ExitStack() as stack, counting() as counted:

        def set_up(_case: Case) -> Stage:
            return Stage(stack, Link(), placement("none"), counted)

        (run,) = Group(_LosesItsHost(1), [case], 0, 20_000_000).run(stack, set_up)
    assert run.failure == f"{LOST}; {DISMISSED}"
