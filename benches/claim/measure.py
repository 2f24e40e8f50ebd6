"""Runs the grid: rounds of all cells, a look, more rounds of what is undecided, while time lasts.

Laws: strategies of a cell run one after the other, in an order drawn anew each round, over the same
arrivals; processes live for one round, so that where their memory lies is chance, too; what was
measured is kept when it is interrupted.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from claim.compare import LOOKS
from claim.grid import MOST_FLAT_OUT_MESSAGES, PILOT_MESSAGES, Cell
from claim.judge import verdicts_of
from claim.picks import BESIDE, DECIDING
from claim.plan import (
    PlannedRun,
    first_runs_of_cell,
    rounds_of_look,
    run_seconds,
    runs_of_cell,
    shuffled,
    strategies_left,
)
from claim.progress import Progress
from claim.result import Ending
from claim.runs import Measured
from claim.samples import Samples
from tinygram_bench.model.result import Run
from tinygram_bench.run.bench import Bench

_BURST_MESSAGES = 64
_SAFETY = 1.15
"""What more rounds take, starts of processes included ÷ what their runs took before."""


@dataclass
class Measuring:
    """The measurement as it goes on; `runs` is what there is so far."""

    cells: Sequence[Cell]
    placement: str
    seed: int
    warm: Bench
    cold: Bench | None
    give_up_s: float
    progress: Progress
    most_rounds: int = LOOKS[-1]
    runs: list[Measured] = field(default_factory=list)
    _flat_out_messages: dict[int, int] = field(default_factory=dict)
    _taken_s: dict[int, list[float]] = field(default_factory=dict)

    def measure(self) -> Ending:
        """Run until all is decided or has had all its rounds, the time is over, or Ctrl-C."""
        try:
            strategies = {at: list(cell.strategies) for at, cell in enumerate(self.cells)}
            self._pilot(strategies)
            for look, rounds in enumerate(LOOKS):
                if look:
                    strategies = self._left(rounds - LOOKS[look - 1])
                if not strategies:
                    break
                for round in rounds_of_look(look):
                    if round > self.most_rounds:
                        return "all rounds"
                    if not self._round(round, strategies, is_first_look=look == 0):
                        return "time used" if look else "out of time"
        except KeyboardInterrupt:
            return "interrupted"
        return "all rounds"

    def _pilot(self, strategies: Mapping[int, Sequence[str]]) -> None:
        """Flat out: find how many messages the slowest strategy sends in the time of a run."""
        for number, cell in enumerate(self.cells):
            if cell.rate_per_s is not None:
                continue
            slowest_ns = 1
            for strategy in strategies[number]:
                run = self._run(PlannedRun(number, strategy, "warm"), 0, PILOT_MESSAGES)
                slowest_ns = max(slowest_ns, run.counters.get("run_time_ns") or 0)
            messages = PILOT_MESSAGES * cell.flat_out_ns // slowest_ns
            whole = messages // _BURST_MESSAGES * _BURST_MESSAGES
            fewest = PILOT_MESSAGES // 4
            self._flat_out_messages[number] = min(max(whole, fewest), MOST_FLAT_OUT_MESSAGES)

    def _left(self, rounds: int) -> dict[int, list[str]]:
        """What is undecided, as much as there is time for; by lot where it is not all."""
        samples = Samples.of(self.runs)
        verdicts = [
            verdict
            for reading in (DECIDING, BESIDE)
            for verdict in verdicts_of(self.cells, samples, reading)
        ]
        left = strategies_left(self.cells, samples, verdicts)
        numbers = sorted(left)
        random.Random(f"{self.seed}/{rounds}").shuffle(numbers)
        seconds_left = self.give_up_s - time.monotonic()
        chosen = {}
        for number in numbers:
            runs = runs_of_cell(number, self.cells[number], left[number])
            seconds = _SAFETY * rounds * len(runs) * self._seconds_of(number)
            if seconds <= seconds_left:
                seconds_left -= seconds
                chosen[number] = left[number]
        return chosen

    def _round(
        self, round: int, strategies: Mapping[int, Sequence[str]], *, is_first_look: bool
    ) -> bool:
        """One pass over the cells; False when the time was over before its end."""
        planned = [
            runs_of_cell(at, self.cells[at], names)
            + (first_runs_of_cell(at, self.cells[at], round) if is_first_look else [])
            for at, names in strategies.items()
        ]
        self.warm.close()
        self._warm_up(strategies)
        count = sum(map(len, planned))
        for done, planned_run in enumerate(shuffled(planned, f"{self.seed}/{round}")):
            if time.monotonic() > self.give_up_s:
                return False
            if planned_run.variant == "cold" and self.cold is None:
                continue
            self.progress.show(round, done, count, self.cells[planned_run.cell].name)
            begun_s = time.monotonic()
            messages = self._flat_out_messages.get(planned_run.cell, PILOT_MESSAGES)
            run = self._run(planned_run, round, messages)
            self.runs.append(
                Measured.of(run, planned_run.cell, planned_run.strategy, planned_run.variant)
            )
            if run.failure is not None:
                self.progress.tell(f"failed: {run.case_id}: {run.failure}")
            if planned_run.variant != "cold":
                self._taken_s.setdefault(planned_run.cell, []).append(time.monotonic() - begun_s)
        return True

    def _warm_up(self, strategies: Mapping[int, Sequence[str]]) -> None:
        """A run of each pair of processes that counts for nothing: the first one starts them."""
        cells = self.cells
        one_of = {(cells[number].runtime, cells[number].link): number for number in strategies}
        for number in one_of.values():
            self._run(PlannedRun(number, strategies[number][0], "warm"), 0, PILOT_MESSAGES)

    def _run(self, planned: PlannedRun, round: int, messages: int) -> Run:
        case = self.cells[planned.cell].case(
            planned.strategy, self.placement, messages, withholds=planned.variant == "floor"
        )
        bench = self.cold if planned.variant == "cold" and self.cold else self.warm
        return bench.run_case(case, round)

    def _seconds_of(self, number: int) -> float:
        taken = self._taken_s.get(number)
        return sum(taken) / len(taken) if taken else run_seconds(self.cells[number])
