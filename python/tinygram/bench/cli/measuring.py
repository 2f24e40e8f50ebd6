"""What every measuring command does with its plan: run, sum up, save, report."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from rich.console import Console

from tinygram.bench import store
from tinygram.bench.cli.exit_codes import ExitCode
from tinygram.bench.probes.environment import environment
from tinygram.bench.progress import Progress
from tinygram.bench.report import render
from tinygram.bench.result import SCHEMA_VERSION, Case, Plan, Result, Run
from tinygram.bench.rounds import run_plan
from tinygram.bench.statistics import compare, summarise


def measure(
    plan: Plan,
    run_case: Callable[[Case, int], Run],
    path: Path,
    *,
    is_published: bool,
    is_quiet: bool,
) -> ExitCode:
    """Run the plan, save its result to `path` and print it.

    Ctrl-C and SIGTERM end it early: the runs that are finished are saved and reported. Raises
    OutputError when the result cannot be saved.
    """
    found = environment(str(plan.cases[0].parameters["congestion_control"]))
    progress = Progress(len(plan.cases) * plan.rounds, quiet=is_quiet)
    with _termination_interrupts():
        runs, is_interrupted = run_plan(plan, run_case, progress)
    summaries = summarise(plan, runs)
    result = Result(
        schema_version=SCHEMA_VERSION,
        command=("tinygram", *sys.argv[1:]),
        environment=found,
        plan=plan,
        runs=runs,
        summaries=summaries,
        verdicts=compare(plan, summaries, runs),
    )
    store.save(result, path)
    failed = [run for run in runs if run.failure]
    if is_quiet:
        for run in failed:
            print(f"tinygram: {run.case_id} failed: {run.failure}", file=sys.stderr)
    else:
        render(result, Console(highlight=False), is_published)
        print(f"\nSaved: {path}")
    if is_interrupted:
        print("tinygram: interrupted; the finished runs are saved", file=sys.stderr)
        return ExitCode.INTERRUPTED
    if failed:
        return ExitCode.RUN_FAILED
    return ExitCode.OK


@contextmanager
def _termination_interrupts() -> Iterator[None]:
    """SIGTERM counts as Ctrl-C, so that finished runs are saved then too."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
