"""How the grid is run: rounds of all cells, a look, more rounds of what is undecided.

Laws: strategies of a cell run one after the other, in an order drawn anew each round, over the same
arrivals; processes live for one round, so that where their memory lies is chance, too.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence

from claim.grid import MOST_FLAT_OUT_MESSAGES, PILOT_MESSAGES, Cell
from claim.judging.compare import LOOKS
from claim.judging.judge import verdicts_of
from claim.judging.picks import BESIDE, DECIDING
from claim.judging.samples import Samples
from claim.plan import (
    PlannedRun,
    first_runs_of_cell,
    run_seconds,
    runs_of_cell,
    shuffled,
    strategies_left,
)
from claim.runs import Measured, slimmed
from tinygram_bench.model.result import Case, Plan, Run
from tinygram_bench.run.bench import Bench
from tinygram_bench.workloads.stream.run import by_runtime_and_link

_BURST_MESSAGES = 64
_SAFETY = 1.15
"""What more rounds take, starts of processes included ÷ what their runs took before."""


class Grid:
    """The cases of a plan in the order in which they run; `run_cases` runs them."""

    def __init__(self, cells: Sequence[Cell], plan: Plan, bench: Bench, give_up_s: float) -> None:
        """`give_up_s`: when the time is over (time.monotonic)."""
        self._cells = cells
        self._seed = plan.seed
        self._cases = {PlannedRun.of(case, cells): case for case in plan.cases}
        self._planned = {case.case_id: planned for planned, case in self._cases.items()}
        self._bench = bench
        self._give_up_s = give_up_s
        self._strategies = {at: list(cell.strategies) for at, cell in enumerate(cells)}
        self._taken_s: dict[int, list[float]] = {}

    def run_cases(self, cases: Sequence[Case], round: int) -> list[Run]:
        """Run each alone, and keep what is needed of it."""
        return [self._run_case(case, round) for case in cases]

    def _run_case(self, case: Case, round: int) -> Run:
        planned = self._planned[case.case_id]
        begun_s = time.monotonic()
        run = self._bench.run_case(case, round)
        if planned.variant != "cold":
            self._taken_s.setdefault(planned.cell, []).append(time.monotonic() - begun_s)
        return slimmed(run, planned.variant)

    def order(self, _plan: Plan, round: int, finished: Sequence[Run]) -> Iterator[Case]:
        """One pass over the cells, or over those that are left; the bench counts rounds from 0."""
        if round in LOOKS[:-1]:
            self._strategies = self._left(LOOKS[LOOKS.index(round) + 1] - round, finished)
        planned = [
            runs_of_cell(at, self._cells[at], names)
            + (first_runs_of_cell(at, self._cells[at], round + 1) if round < LOOKS[0] else [])
            for at, names in self._strategies.items()
        ]
        self._bench.close()
        self._warm_up(round)
        for run in shuffled(planned, f"{self._seed}/{round + 1}"):
            if run in self._cases:
                yield self._cases[run]

    def _left(self, rounds: int, finished: Sequence[Run]) -> dict[int, list[str]]:
        """What is undecided, as much as there is time for; by lot where it is not all."""
        samples = Samples.of(measured_of(self._planned, finished))
        verdicts = [
            verdict
            for reading in (DECIDING, BESIDE)
            for verdict in verdicts_of(self._cells, samples, reading)
        ]
        left = strategies_left(self._cells, samples, verdicts)
        numbers = sorted(left)
        random.Random(f"{self._seed}/{rounds}").shuffle(numbers)
        seconds_left = self._give_up_s - time.monotonic()
        chosen = {}
        for number in numbers:
            runs = runs_of_cell(number, self._cells[number], left[number])
            seconds = _SAFETY * rounds * len(runs) * self._seconds_of(number)
            if seconds <= seconds_left:
                seconds_left -= seconds
                chosen[number] = left[number]
        return chosen

    def _warm_up(self, round: int) -> None:
        """A run of each pair of processes that counts for nothing: the first one starts them."""
        one_of = {
            (self._cells[number].runtime, self._cells[number].link): number
            for number in self._strategies
        }
        for number in one_of.values():
            strategy = self._strategies[number][0]
            self._bench.run_case(self._cases[PlannedRun(number, strategy, "warm")], round)

    def _seconds_of(self, number: int) -> float:
        taken = self._taken_s.get(number)
        return sum(taken) / len(taken) if taken else run_seconds(self._cells[number])


def measured_of(planned: Mapping[str, PlannedRun], runs: Sequence[Run]) -> list[Measured]:
    """The runs of a result file, whose cases were `planned`."""
    return [
        Measured.of(run, each.cell, each.strategy, each.variant)
        for run in runs
        for each in (planned[run.case_id],)
    ]


def flat_out_messages(cells: Sequence[Cell], bench: Bench, placement: str) -> dict[int, int]:
    """How many messages the slowest strategy of each flat-out cell sends in the time of a run."""
    found = {}
    for number, cell in enumerate(cells):
        if cell.rate_per_s is not None:
            continue
        slowest_ns = 1
        for strategy in cell.strategies:
            run = bench.run_case(PlannedRun(number, strategy, "warm").case(cells, placement, {}), 0)
            slowest_ns = max(slowest_ns, run.counters.get("run_time_ns") or 0)
        messages = PILOT_MESSAGES * cell.flat_out_ns // slowest_ns
        whole = messages // _BURST_MESSAGES * _BURST_MESSAGES
        found[number] = min(max(whole, PILOT_MESSAGES // 4), MOST_FLAT_OUT_MESSAGES)
    return found


def by_variant(case: Case) -> tuple[str, str, str] | None:
    """Runs by fresh processes, whose case says so, share none; all others do."""
    return None if case.case_id.endswith(", cold") else by_runtime_and_link(case)
