"""What every measuring command does with its plan: run, sum up, save, report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.recording import Recording
from tinygram_bench.cli.resuming import check_plan
from tinygram_bench.cli.terminal import console
from tinygram_bench.crosscheck.interleaved import Interleaved
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.host.network import Network, private_network
from tinygram_bench.host.occupied import cores_of, occupied
from tinygram_bench.host.placement import placement
from tinygram_bench.host.probes.environment import environment
from tinygram_bench.host.throttled import throttling_told
from tinygram_bench.links.spec import LOOPBACK
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Case, Plan, Result, Run
from tinygram_bench.model.store import Destination
from tinygram_bench.processes.interrupts import INTERRUPTS
from tinygram_bench.report import render
from tinygram_bench.run.progress import Progress
from tinygram_bench.run.rounds import run_plan


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a measurement is made and shown, whatever it measures.

    `is_quiet`: without progress and tables. `is_published`: published figures stand beside ours.
    `with_notes`: with every note. `is_awake`: no core sleeps meanwhile. `waits`: another
    measurement on the same cores is waited for; otherwise it is told, and in the runs' warnings.
    """

    is_quiet: bool
    is_published: bool
    with_notes: bool
    is_awake: bool
    waits: bool


def measure(
    plan: Plan,
    run_case: Callable[[Case, int], Run],
    destination: Destination,
    manner: Manner,
    *,
    network: str | None = None,
    peers: Interleaved | None = None,
    check: Callable[[], None] = lambda: None,
) -> ExitCode:
    """Run the plan, save its result after every round and print it.

    Ctrl-C, SIGTERM and SIGHUP end it early: the runs that are finished are saved and reported;
    where there is none, what the destination held stays.
    `network`: what the environment says of where the runs were, if it is no network of their own.
    `peers`: other programs in the same rounds, whose failures are told and do not fail ours.
    `check` comes before the first run, and raises UsageError where none can succeed. Raises
    UsageError where keeping cores awake is not permitted, too, and OutputError, after the report,
    when the result cannot be saved.
    """
    running = plan if peers is None else peers.plan
    total_runs = len(running.cases) * running.rounds
    earlier = _earlier_runs(plan, destination, peers)
    if earlier and len(earlier) == total_runs:
        return _tell_finished(earlier, destination, manner)
    progress = Progress(total_runs, quiet=manner.is_quiet, earlier_runs=len(earlier))
    numbers = cores_of(placement(plan.cases[0].placement))
    with (
        closing(destination.lock),
        INTERRUPTS.handled(),
        occupied(numbers, _tell, waits=manner.waits) as cores,
        _awake(manner.is_awake, plan),
    ):
        told = cores.told(throttling_told(run_case))
        run = told if peers is None else peers.around(told)
        check()
        recording = Recording(plan, destination, _environment(plan, network), peers, progress)

        def keep(runs: tuple[Run, ...]) -> None:
            with INTERRUPTS.held():
                recording.keep(runs)

        def measured(case: Case, round: int) -> Run:
            return recording.marked(run(case, round))

        runs, is_interrupted = run_plan(running, measured, progress, keep, earlier)
        if is_interrupted and len(_own(runs, peers)) == len(_own(earlier, peers)):
            _tell("interrupted before a run was finished; no result is written")
            return ExitCode.INTERRUPTED
        with INTERRUPTS.held():
            result, fault = recording.finish(runs)
        all_failed = [each for each in runs if each.failure]
        failed = _own(all_failed, peers)
        if manner.is_quiet:
            for each in all_failed:
                print(f"tinygram: {each.case_id} failed: {each.failure}", file=sys.stderr)
        else:
            _report(result, destination, manner, is_saved=fault is None)
    if fault is not None:
        raise fault
    if is_interrupted:
        print("tinygram: interrupted; the finished runs are saved", file=sys.stderr)
        return ExitCode.INTERRUPTED
    if failed:
        return ExitCode.RUN_FAILED
    return ExitCode.OK


def _earlier_runs(
    plan: Plan, destination: Destination, peers: Interleaved | None
) -> tuple[Run, ...]:
    """The runs of a measurement that goes on. Raises UsageError where it cannot."""
    earlier = destination.earlier
    if earlier is None:
        return ()
    check_plan(earlier, plan, destination.path)
    return (*earlier.runs, *(() if peers is None else peers.go_on(earlier.cross_check)))


def _own(runs: Sequence[Run], peers: Interleaved | None) -> tuple[Run, ...]:
    return tuple(runs) if peers is None else peers.without_peers(runs)


def _tell_finished(runs: tuple[Run, ...], destination: Destination, manner: Manner) -> ExitCode:
    """Say of a measurement that was to be resumed that it is finished, and what it found."""
    assert destination.earlier is not None
    if not manner.is_quiet:
        _report(destination.earlier, destination, manner, is_saved=False)
    print(
        f"tinygram: {destination.path} is finished: it has all {len(runs)} runs; nothing was run",
        file=sys.stderr,
    )
    is_failed = any(run.failure is not None for run in destination.earlier.runs)
    return ExitCode.RUN_FAILED if is_failed else ExitCode.OK


def _report(result: Result, destination: Destination, manner: Manner, *, is_saved: bool) -> None:
    """Print the tables, on standard error where standard output has the result."""
    screen = console(is_on_stderr=destination.is_standard_output)
    render(result, screen, manner.is_published, manner.with_notes)
    if is_saved and not destination.is_standard_output:
        print(f"\nSaved: {destination.path}")


def _tell(text: str) -> None:
    print(f"tinygram: {text}", file=sys.stderr, flush=True)


@contextmanager
def _awake(is_asked: bool, plan: Plan) -> Iterator[None]:
    """Where it is asked for; over links wherever it is permitted.

    A core that sleeps between two packets comes back when a virtual machine's host says so, which
    takes as long as many a link does.
    """
    if not is_asked and all(case.link == LOOPBACK for case in plan.cases):
        yield
        return
    with cores_awake() as is_awake:
        if is_asked and not is_awake:
            raise UsageError(
                "--awake: only root may keep cores from sleeping (/dev/cpu_dma_latency); leave "
                "out --awake, or run as root"
            )
        yield


def _environment(plan: Plan, named: str | None) -> dict[str, Any]:
    """Read where the runs will be: a new network has settings of its own."""
    any_case = plan.cases[0]
    where = placement(any_case.placement)
    own: AbstractContextManager[Network] = (
        private_network() if named is None else nullcontext(Network())
    )
    with own as network, network.entered():
        found = environment(str(any_case.parameters["congestion_control"]))
    return found | {
        "network": named or ("private" if network.is_private else "host"),
        "sender_core": where.sender_cpu,
        "receiver_core": where.receiver_cpu,
    }
