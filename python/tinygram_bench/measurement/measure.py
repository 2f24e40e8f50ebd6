"""Measuring: a plan goes in, and its outcome comes out as one value."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from math import inf
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.crosscheck.interleaved import Interleaved
from tinygram_bench.host import noise_floor
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.host.network import Network, private_network
from tinygram_bench.host.occupied import cores_of, occupied
from tinygram_bench.host.placement import placement
from tinygram_bench.host.probes.environment import environment
from tinygram_bench.host.throttled import throttling_told
from tinygram_bench.links.spec import LOOPBACK, REMOTE
from tinygram_bench.measurement.course import Course
from tinygram_bench.measurement.ending import FixedCases
from tinygram_bench.measurement.recording import Recording, summed_up
from tinygram_bench.measurement.resuming import check_plan
from tinygram_bench.measurement.sweeping import Sweeping
from tinygram_bench.model.errors import OutputError, UsageError
from tinygram_bench.model.result import Plan, Result, Run, RunCases
from tinygram_bench.model.store import Destination
from tinygram_bench.runs.progress import Progress
from tinygram_bench.runs.progress.live import Live
from tinygram_bench.runs.rounds import Order, run_plan


class Measurement(Struct, frozen=True):
    """The outcome of a measurement.

    `result` is None where the measurement was interrupted before a run was finished: then the
    destination holds what it held before. `output_error`: why the result is not saved at its
    destination. `is_new` is False where the file to resume was finished, so that nothing was run.
    """

    result: Result | None
    is_interrupted: bool = False
    output_error: OutputError | None = None
    is_new: bool = True


class Study(Struct, frozen=True):
    """The choices that a study makes: which cases a round has, and when no more runs begin.

    `about` is kept in the result's environment, as `study`. A study judges its runs itself: the
    only summaries and verdicts are those that `sum_up` gives a result.
    """

    about: dict[str, Any]
    order: Order
    give_up_s: float
    sum_up: Callable[[Result], Result] = lambda result: result


def measure(
    plan: Plan,
    run_cases: RunCases,
    destination: Destination,
    *,
    is_quiet: bool,
    is_awake: bool,
    waits: bool,
    command: tuple[str, ...],
    network: str | None = None,
    elsewhere: Mapping[str, Any] | None = None,
    peers: Interleaved | None = None,
    check: Callable[[], None] = lambda: None,
    tell_environment: Callable[[Mapping[str, Any]], None] = lambda _environment: None,
    study: Study | None = None,
    sweeping: Sweeping | None = None,
    live: Live | None = None,
) -> Measurement:
    """Run the plan, and save its result after every round.

    KeyboardInterrupt, which Ctrl-C, SIGTERM and SIGHUP raise under `INTERRUPTS.handled`, ends the
    measurement early: the finished runs are kept. `is_quiet`: without progress. `is_awake`: no core
    sleeps meanwhile. `waits`: another measurement on the same cores is waited for; otherwise it is
    only told, in the runs' warnings too. `command`: the words of the command line, kept in the
    result. `network`: how the environment names the runs' network, if they have none of their own.
    `elsewhere`: what the environment has of other machines that have the far ends; None: there are
    none. `peers`: other programs in the same rounds, whose failures are told and do not fail ours.
    `study`: what a study decides by itself. `sweeping`: what makes `plan` grow. `live`: the bench's
    `Live`, for progress while cases take turns. `check` is called before the first run, and raises
    UsageError where no run can succeed; `tell_environment` is then called with the environment that
    the result keeps. Also raises UsageError where keeping cores awake is not permitted.
    """
    fixed = FixedCases(plan) if study is None else FixedCases(plan, order=study.order)
    course: Course = fixed if sweeping is None else sweeping
    earlier = _earlier_runs(plan, destination, peers)
    if sweeping is not None and destination.earlier is not None:
        sweeping.go_on(destination.earlier.plan)
    most_runs = course.most_runs + (0 if peers is None else peers.most_runs)
    if _is_finished(destination.earlier, earlier, most_runs):
        return Measurement(destination.earlier, is_new=False)
    progress = Progress(
        most_runs,
        quiet=is_quiet,
        earlier_runs=len(earlier),
        may_end_early=course.may_end_early,
        most_s=inf if plan.max_time_ns is None else plan.max_time_ns / 1e9,
    )
    if live is not None and progress.is_rewritten:
        live.tell = progress.goes_on
    with (
        closing(destination.lock),
        occupied(cores_of(placement(plan.cases[0].placement)), _tell, waits=waits) as cores,
        cores_as_asked(is_awake, plan),
    ):
        told = cores.told(throttling_told(run_cases))
        check()
        found = _environment(plan, network, elsewhere, study)
        tell_environment(found)
        recording = Recording(
            course.plan,
            destination,
            found,
            *(peers, progress),
            command=command,
            sum_up=summed_up if study is None else study.sum_up,
        )
        runs, is_interrupted = run_plan(
            replace(plan if peers is None else peers.plan, rounds=course.most_rounds),
            recording.around(told if peers is None else peers.around(told)),
            progress,
            recording.keep,
            earlier,
            course.order,
            inf if study is None else study.give_up_s,
            partial(_is_over, course, recording, peers),
        )
        if is_interrupted and len(_own(runs, peers)) == len(_own(earlier, peers)):
            return Measurement(None, is_interrupted)
        result, error = recording.finish(runs, course.ending)
    return Measurement(result, is_interrupted, error)


def _is_over(
    course: Course,
    recording: Recording,
    peers: Interleaved | None,
    rounds: int,
    runs: Sequence[Run],
) -> bool:
    """Ask the course. Where it cannot go on, the finished runs are saved, and it raises why."""
    try:
        is_last = course.is_over(rounds, _own(runs, peers))
    except Exception:
        # For example, a point of a sweep cannot be measured.
        recording.rescue(runs)
        raise
    recording.grow(course.plan)
    return is_last


def _is_finished(stored: Result | None, earlier: Sequence[Run], most_runs: int) -> bool:
    """Whether the measurement that is to go on has ended."""
    return stored is not None and (stored.ending is not None or 0 < most_runs == len(earlier))


def _environment(
    plan: Plan, network: str | None, elsewhere: Mapping[str, Any] | None, study: Study | None
) -> dict[str, Any]:
    """The environment that the result keeps; see `measure`."""
    found = _near_environment(plan, network)
    if elsewhere is not None:
        found |= {**elsewhere, "receiver_core": None}
    return found if study is None else found | {"study": study.about}


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


def _tell(text: str) -> None:
    print(f"tinygram: {text}", file=sys.stderr, flush=True)


@contextmanager
def cores_as_asked(is_asked: bool, plan: Plan) -> Iterator[None]:
    """Keep the cores awake where that is asked for, and over emulated links where it is permitted.

    A core that sleeps between two packets wakes up when the host of its virtual machine lets it,
    which may take longer than a packet's time on the link.
    """
    # With two hosts, doing it unasked would keep one awake, and let the other one sleep.
    if not is_asked and all(case.link in (LOOPBACK, REMOTE) for case in plan.cases):
        yield
        return
    with cores_awake() as is_awake:
        if is_asked and not is_awake:
            raise UsageError(
                "--awake: only root may keep cores from sleeping (/dev/cpu_dma_latency): run as "
                "root, or measure without --awake"
            )
        yield


def _near_environment(plan: Plan, named: str | None) -> dict[str, Any]:
    """The environment in a network like that of the runs: a new one has its own settings.

    `named`: how it names the runs' network, if they have none of their own.
    """
    any_case = plan.cases[0]
    where = placement(any_case.placement)
    own: AbstractContextManager[Network] = (
        private_network() if named is None else nullcontext(Network())
    )
    with own as network, network.entered():
        found = environment(any_case.parameters.congestion_control)
    floor = noise_floor.recent()
    return found | {
        "noise_floor": None if floor is None else floor.told,
        "network": named or ("private" if network.is_private else "host"),
        "sender_core": where.sender_cpu,
        "receiver_core": where.receiver_cpu,
    }
