"""Runs a plan: every case that is due once in each round, each in its own seeded order.

A study may choose the cases of a round itself, by what the finished runs say.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from tinygram_bench.model.result import Case, Plan, Run, RunCases
from tinygram_bench.runs.progress import Progress
from tinygram_bench.statistics.workloads.loads import is_alone, turns_of

Order = Callable[[Plan, int, Sequence[Run]], Iterable[Case]]
"""The cases of round 0, 1, 2 … in their order, given the finished runs; asked before the round."""
IsOver = Callable[[int, Sequence[Run]], bool]
"""Whether a plan ends after this many rounds, given the finished runs; asked before each round and
after the last one."""


def ordered(plan: Plan, round: int, _finished: Sequence[Run] = ()) -> list[Case]:
    """The cases of a round in a random order, which is the same for the same seed."""
    cases = list(plan.due(round))
    random.Random(f"{plan.seed}/{round}").shuffle(cases)
    return cases


def _groups(cases: Iterable[Case]) -> Iterator[list[Case]]:
    """The cases in groups: one that runs alone, or all those that take turns with each other.

    A group stands where its middle case is in the order: by the first one, large groups would come
    early.
    """
    groups: dict[Hashable, list[tuple[int, Case]]] = {}
    for place, case in enumerate(cases):
        key = case.case_id if is_alone(case) else turns_of(case)
        groups.setdefault(key, []).append((place, case))
    for group in sorted(groups.values(), key=lambda group: group[len(group) // 2][0]):
        yield [case for _, case in group]


def run_plan(
    plan: Plan,
    run_cases: RunCases,
    progress: Progress,
    on_round: Callable[[tuple[Run, ...]], None] = lambda _runs: None,
    earlier: Sequence[Run] = (),
    order: Order = ordered,
    give_up_s: float = math.inf,
    is_over: IsOver = lambda _rounds, _runs: False,
) -> tuple[tuple[Run, ...], bool]:
    """Run everything; return the finished runs, and whether Ctrl-C ended the plan early.

    `on_round` gets all runs so far after every round but the last. `earlier`: runs of the plan that
    were finished before, which come first. After `give_up_s` (time.monotonic) no run begins.
    """
    runs = list(earlier)
    done = {(run.case_id, run.round) for run in earlier}
    try:
        with progress:
            for round in range(plan.rounds):
                if len(runs) > len(earlier):
                    on_round(tuple(runs))
                if is_over(round, tuple(runs)):
                    return tuple(runs), False
                for cases in _groups(order(plan, round, tuple(runs))):
                    left = [case for case in cases if (case.case_id, round) not in done]
                    if not left:
                        continue
                    if time.monotonic() > give_up_s:
                        return tuple(runs), False
                    progress.cases_started(left, round + 1, plan.rounds)
                    started_s = time.monotonic()
                    found = run_cases(left, round)
                    runs += found
                    taken_s = time.monotonic() - started_s
                    cases_by_id = {case.case_id: case for case in left}
                    for run in found:
                        progress.run_finished(taken_s, cases_by_id[run.case_id], run)
            is_over(plan.rounds, tuple(runs))
    except KeyboardInterrupt:
        return tuple(runs), True
    return tuple(runs), False
