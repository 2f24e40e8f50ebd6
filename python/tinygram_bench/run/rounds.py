"""Runs a plan: every case once in each round, each round in its own seeded order."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

from tinygram_bench.model.result import Case, Plan, Run
from tinygram_bench.run.progress import Progress


def ordered(plan: Plan, round: int) -> list[Case]:
    """The cases in the order of round 0, 1, 2 …: the same for the same seed."""
    cases = list(plan.cases)
    random.Random(f"{plan.seed}/{round}").shuffle(cases)
    return cases


def run_plan(
    plan: Plan,
    run_case: Callable[[Case, int], Run],
    progress: Progress,
    on_round: Callable[[tuple[Run, ...]], None] = lambda _runs: None,
    earlier: Sequence[Run] = (),
) -> tuple[tuple[Run, ...], bool]:
    """Run everything; the finished runs, and whether Ctrl-C ended it early.

    `on_round` gets all runs so far after every round but the last. `earlier`: runs of the plan that
    are finished already, and come first.
    """
    runs = list(earlier)
    done = {(run.case_id, run.round) for run in earlier}
    try:
        with progress:
            for round in range(plan.rounds):
                if len(runs) > len(earlier):
                    on_round(tuple(runs))
                for case in ordered(plan, round):
                    if (case.case_id, round) in done:
                        continue
                    progress.run_started(case.case_id, round + 1, plan.rounds)
                    started_s = time.monotonic()
                    run = run_case(case, round)
                    runs.append(run)
                    progress.run_finished(time.monotonic() - started_s, run.failure)
    except KeyboardInterrupt:
        return tuple(runs), True
    return tuple(runs), False
