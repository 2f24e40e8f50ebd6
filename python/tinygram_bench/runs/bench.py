"""The machinery of every run: a link, processes, counters, a probe, and the outcome.

It does what all workloads have in common, from bringing up the link to ending the last process; a
workload says what its two ends are told (workload.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from tinygram_bench.host.probes.sampling import probing
from tinygram_bench.host.write_counter import Counting, counting
from tinygram_bench.hosts.far_host import FarHost
from tinygram_bench.links import Link, link_up
from tinygram_bench.model.result import Case, Plan, Run
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.attempts import attempt, checked
from tinygram_bench.runs.foreign_server import answer_limit_s, call_once, unanswered
from tinygram_bench.runs.group import ALONE, Agreement, Alternation, Group
from tinygram_bench.runs.progress.live import Live
from tinygram_bench.runs.stage import Stage, Turn
from tinygram_bench.runs.workload import Alternates, TakesTurns, Workload
from tinygram_bench.statistics.workloads.loads import is_alone

Kept = Callable[[Case], Hashable | None]
"""The key of a case's stage: cases with the same key share a stage; None: the case gets a fresh
one.

Cases that take turns are up at the same time, so each needs a key of its own."""


class Bench:
    """Runs cases of a workload, each on a stage of its own, or on stages that stay."""

    def __init__(
        self,
        workload: Workload,
        library: Counting,
        kept: Kept | None,
        far_host: FarHost | None,
        agreement: Agreement = ALONE,
    ) -> None:
        """`library` counts processes' writes; without `kept` every run has a fresh stage."""
        self._far_host = far_host
        self._agreement = agreement
        self._workload = workload
        self.counting = library
        self._kept = kept
        self.live = Live()
        self._stages: dict[Hashable, Stage] = {}

    def run_case(self, case: Case, round: int) -> Run:
        """Run a case once; a failure is in the run, not raised, and ends its stage."""
        return _with_failure_kept(case, round, self._measured)

    def run_cases(self, cases: Sequence[Case], round: int) -> list[Run]:
        """Run a case, or several that take turns, once; see `run_case`.

        Cases whose single samples alternate share a fresh stage, which ends with them.
        """
        if is_alone(cases[0]):
            return [self.run_case(case, round) for case in cases]
        (slice_ns,) = {case.parameters.slice_ns for case in cases}
        if slice_ns is None:
            assert isinstance(self._workload, Alternates), "its plans have such cases"
            with ExitStack() as stack:
                set_up = partial(self._set_up, stack, round=round)
                return Alternation(self._workload, cases, round).run(stack, set_up)
        return self._in_slices(cases, round, slice_ns)

    def _in_slices(self, cases: Sequence[Case], round: int, slice_ns: int) -> list[Run]:
        assert isinstance(self._workload, TakesTurns), "its plans have such cases"
        group = Group(self._workload, cases, round, slice_ns, self.live, self._agreement)
        keys = [None if self._kept is None else self._kept(case) for case in cases]
        ended = list(keys)
        try:
            with ExitStack() as stack:
                runs = group.run(stack, partial(self._own_stage, stack, round=round))
            ended = [key for key, run in zip(keys, runs, strict=True) if run.failure is not None]
        finally:
            for key in ended:
                self._end(key)
        return runs

    def close(self) -> None:
        """End all stages that stay: the next run makes new ones."""
        for key in list(self._stages):
            self._end(key)

    def check(self, plan: Plan) -> None:
        """Call each server that is not ours once over each link, started as for a run.

        Raises UsageError where one does not answer.
        """
        foreign = {
            (server, case.link): case
            for case in reversed(plan.cases)
            if (server := self._workload.foreign_server(case)) is not None
        }
        for (server, _), case in foreign.items():
            try:
                self._call_once(case, *self._workload.first_call(plan))
            except (OSError, RunError) as failure:
                raise unanswered(server, failure) from failure

    def _call_once(self, case: Case, call: bytes, answer_bytes: int) -> None:
        with self._turn(case, 0) as turn:
            address = self._workload.listen(turn)
            assert address is not None, "it is not ours, so there is one"
            limit_s = answer_limit_s(case.parameters.timeout_ns)
            with turn.explaining():
                call_once(address, call, answer_bytes, limit_s, turn.link.near)

    @contextmanager
    def _turn(self, case: Case, round: int) -> Iterator[Turn]:
        """A turn on a fresh stage. Raises OSError and RunError."""
        with ExitStack() as stack:
            stage = self._set_up(stack, case, round)
            yield Turn(stage, stack, case, round, self._workload.limit_s(case))

    def _measured(self, case: Case, round: int) -> Run:
        key = None if self._kept is None else self._kept(case)
        if key is None:
            with self._turn(case, round) as turn:
                return self._taken(turn)
        try:
            with ExitStack() as stack:
                stage = self._stage(key, case)
                return self._taken(Turn(stage, stack, case, round, self._workload.limit_s(case)))
        except BaseException:
            self._end(key)
            raise

    def _taken(self, turn: Turn) -> Run:
        link = turn.link
        address = self._workload.listen(turn)
        turn.begin()
        port = 0 if address is None else address.port
        probe_ns = turn.case.parameters.probe_ns
        probe = turn.stack.enter_context(probing(probe_ns, port, link.near, link.is_one_host))
        with turn.explaining():
            exchanged = self._workload.exchange(turn, address)
        return probe.added_to(link.added_to(exchanged.run), exchanged.start_ns)

    def _set_up(self, stack: ExitStack, case: Case, round: int) -> Stage:
        link = Link()
        if self._far_host is not None:
            link = self._far_host.link()
        elif self._workload.server_address(case) is None:
            link = stack.enter_context(link_up(case, self._workload.seed + round))
        where = self._workload.where(case)
        return Stage(stack, link, where, self.counting, self._far_host, case.placement)

    def _own_stage(self, stack: ExitStack, case: Case, round: int) -> Stage:
        """A stage for a case beside others, which ends with `stack` unless it stays."""
        key = None if self._kept is None else self._kept(case)
        return self._set_up(stack, case, round) if key is None else self._stage(key, case)

    def _stage(self, key: Hashable, case: Case) -> Stage:
        if key not in self._stages:
            with ExitStack() as stack:
                stage = self._set_up(stack, case, 0)
                stage.stack = stack.pop_all()
                self._stages[key] = stage
        return self._stages[key]

    def _end(self, key: Hashable) -> None:
        if key in self._stages:
            self._stages.pop(key).stack.close()


@contextmanager
def running(
    workload: Workload,
    kept: Kept | None = None,
    far_host: FarHost | None = None,
    agreement: Agreement = ALONE,
) -> Iterator[Bench]:
    """A bench until the block's end; with `kept`, its stages stay until then.

    `far_host`: the host of the far ends; None: this machine. `agreement`: with other hosts that run
    the same cases at the same time.
    """
    with counting() as library:
        made = Bench(workload, library, kept, far_host, agreement)
        try:
            yield made
        finally:
            made.close()


def _with_failure_kept(case: Case, round: int, measure: Callable[[Case, int], Run]) -> Run:
    """The run that `measure` makes, or one with its failure.

    Counts come from the run's processes, and are not trusted: a count below 0, or above what a run
    of that length can have, fails the run.
    """
    began_ns = time.monotonic_ns()
    return attempt(
        case, round, lambda: checked(measure(case, round), time.monotonic_ns() - began_ns)
    )
