"""The steps that all measuring commands share: measure, show, judge and exit with a status."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.terminal import console
from tinygram_bench.cluster import PARTIAL
from tinygram_bench.crosscheck.interleaved import Interleaved
from tinygram_bench.hosts.address import FarAddress
from tinygram_bench.hosts.far_host import reached
from tinygram_bench.measurement.measure import Measurement, measure
from tinygram_bench.measurement.sweeping import Sweeping
from tinygram_bench.model.result import Plan, Result, Run
from tinygram_bench.model.store import Destination
from tinygram_bench.processes.interrupts import INTERRUPTS
from tinygram_bench.report import render
from tinygram_bench.runs.bench import running
from tinygram_bench.runs.workload import Workload

if TYPE_CHECKING:
    from tinygram_bench.cluster.running import ClusterAsked


class Manner(Struct, frozen=True, kw_only=True):
    """How a measurement is made and shown, whatever it measures.

    `is_quiet`: without progress and tables. `is_published`: published figures stand beside ours.
    `with_notes`: with every note. `is_awake`: no core sleeps meanwhile. `waits`: wait for another
    measurement on the same cores; otherwise such a measurement is told, and noted in the runs'
    warnings. `far`: the host of the far end (None: this host). `cluster`: the cluster whose hosts
    measure (None: this host does).
    """

    is_quiet: bool
    is_published: bool
    with_notes: bool
    is_awake: bool
    waits: bool
    far: FarAddress | None = None
    cluster: ClusterAsked | None = None


class Asked(Struct, frozen=True):
    """What the options of a measuring command ask for, checked and ready to be measured.

    `sweeping`: what makes `plan` grow. `judge` gives the status where no run failed and nothing was
    interrupted. `tell_environment` is called with the result's environment before the first run.
    """

    plan: Plan
    workload: Workload
    destination: Destination
    manner: Manner
    peers: Interleaved | None = None
    judge: Callable[[Result], ExitCode] | None = None
    sweeping: Sweeping | None = None
    tell_environment: Callable[[Mapping[str, Any]], None] = lambda _environment: None


@contextmanager
def measured(
    asked: Asked, destination: Destination, command: tuple[str, ...]
) -> Iterator[Measurement]:
    """Measure, and yield the outcome; until the block ends, a second interrupt is ignored."""
    plan, workload, manner = asked.plan, asked.workload, asked.manner
    measured_by = partial(
        measure,
        plan,
        destination=destination,
        is_quiet=manner.is_quiet,
        is_awake=manner.is_awake,
        waits=manner.waits,
        command=command,
        tell_environment=asked.tell_environment,
    )
    if manner.cluster is not None:
        from tinygram_bench.cluster.running import conducting

        with INTERRUPTS.handled(), conducting(manner.cluster, plan) as (conductor, hosts):
            yield measured_by(
                conductor.run_cases,
                network="host",
                elsewhere={"cluster": hosts},
                sweeping=asked.sweeping,
            )
        return
    is_elsewhere = any(workload.server_address(case) is not None for case in plan.cases)
    network = "the server's" if is_elsewhere else None
    with (
        INTERRUPTS.handled(),
        reached(manner.far) as far_host,
        running(workload, far_host=far_host) as made,
    ):
        yield measured_by(
            made.run_cases,
            network=network if far_host is None else "host",
            elsewhere=None if far_host is None else {"far": far_host.environment},
            peers=asked.peers,
            check=lambda: made.check(plan),
            sweeping=asked.sweeping,
            live=made.live,
        )


def measure_and_show(asked: Asked) -> ExitCode:
    """Measure and print the report. Afterwards raises OutputError if the result was not saved."""
    destination = asked.destination
    with measured(asked, destination, ("tinygram", *sys.argv[1:])) as measurement:
        if measurement.result is not None:
            _show(measurement, measurement.result, destination, asked.manner)
    code = status_of(measurement, destination)
    if asked.judge is None or code != ExitCode.OK or measurement.result is None:
        return code
    return asked.judge(measurement.result)


def _show(
    measurement: Measurement, result: Result, destination: Destination, manner: Manner
) -> None:
    """Print the tables, to standard error where standard output has the result."""
    if manner.is_quiet:
        for name, failure in _failures(result):
            print(f"tinygram: {name} failed: {failure}", file=sys.stderr)
        return
    screen = console(is_on_stderr=destination.is_standard_output)
    render(result, screen, manner.is_published, manner.with_notes)
    is_saved = measurement.is_new and measurement.output_error is None
    if is_saved and not destination.is_standard_output:
        print(f"\nSaved: {destination.path}")


def _failures(result: Result) -> list[tuple[str, str]]:
    """The name of each case or peer that failed in a round, and why."""
    peers = () if result.cross_check is None else result.cross_check.runs
    found = [(run.case_id, run.failure) for run in result.runs]
    found += [(run.peer_id, run.failure) for run in peers]
    return [(name, failure) for name, failure in found if failure is not None]


def status_of(measurement: Measurement, destination: Destination) -> ExitCode:
    """Tell how the measurement ended; returns the status. Raises the OutputError it ended with."""
    if measurement.output_error is not None:
        raise measurement.output_error
    result = measurement.result
    if result is None:
        _tell("interrupted before a round was finished; no result is written")
        return ExitCode.INTERRUPTED
    if measurement.is_interrupted:
        _tell("interrupted; the finished rounds are saved")
        return ExitCode.INTERRUPTED
    if not measurement.is_new:
        checked = 0 if result.cross_check is None else len(result.cross_check.runs)
        count = len(result.runs) + checked
        _tell(f"{destination.path} is finished: it has all {count} runs; nothing was run")
    is_failed = any(run.failure is not None or _is_partial(run) for run in result.runs)
    return ExitCode.RUN_FAILED if is_failed else ExitCode.OK


def _is_partial(run: Run) -> bool:
    return any(warning.code == PARTIAL for warning in run.warnings)


def _tell(text: str) -> None:
    print(f"tinygram: {text}", file=sys.stderr, flush=True)
