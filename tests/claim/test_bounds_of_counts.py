"""Whether the prediction from counts encloses the truth of a sender that is simulated."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product
from math import exp

import pytest
from claim.grid import OURS, Cell
from claim.judging.compare import MARGIN
from claim.judging.counts import predicted
from claim.judging.judge import verdicts_of
from claim.judging.samples import Samples
from claim.runs import Measured
from tests.claim.worlds import CYCLES, changed, runs_of

PATH_NS = 15_000.0
"""From a write to its receipt."""
MESSAGES = 4_000
CPU_NS = 20_000.0
LOADS = (0.02, 0.2, 0.5)
BURSTS = (1, 8)


@dataclass(frozen=True)
class Sender:
    """A loop that handles one message after the other, each with a write of its own.

    `before_ns`, `after_ns`: its CPU time before a message is written, and after.
    """

    before_ns: float
    after_ns: float

    def mean_delay_ns(self, due_ns: list[float]) -> float:
        free_ns = total_ns = 0.0
        for each in due_ns:
            written_ns = max(each, free_ns) + self.before_ns
            free_ns = written_ns + self.after_ns
            total_ns += written_ns + PATH_NS - each
        return total_ns / len(due_ns)


def arrivals(load: float, burst: int) -> tuple[Cell, list[float]]:
    """Poisson's, of bursts, at which a message of CPU_NS makes that load."""
    lot = random.Random(1)
    rate_per_s = load / CPU_NS * 1e9
    at_ns, due_ns = 0.0, []
    for _ in range(MESSAGES // burst):
        at_ns += lot.expovariate(rate_per_s / burst / 1e9)
        due_ns += [at_ns] * burst
    return Cell("loop", rate_per_s, "poisson", burst, 100), due_ns


def told(
    load: float, burst: int, more: float, before: float, *, noise: float = 0.0
) -> tuple[Cell, list[Measured], float]:
    """Rounds of ours, which uses `more` of the CPU time of `nodelay`, the share `before` of it
    before the write; and its true ratio. The clock of sums has `noise`, that of CPU time has none.
    """
    cell, due_ns = arrivals(load, burst)
    theirs = Sender(CPU_NS / 2, CPU_NS / 2)
    extra_ns = more * CPU_NS
    ours = Sender(CPU_NS / 2 + before * extra_ns, CPU_NS / 2 + (1 - before) * extra_ns)
    sums_ns = {
        name: sender.mean_delay_ns(due_ns) + sender.before_ns + sender.after_ns
        for name, sender in ((OURS, ours), ("nodelay", theirs))
    }
    lot = random.Random(2)
    runs = []
    for run in runs_of([cell], dict.fromkeys(cell.strategies, 1.0)):
        sum_ns = sums_ns.get(run.run.strategy, 10 * sums_ns["nodelay"])
        cpu_ns = CPU_NS * (1 + more) if run.run.strategy == OURS else CPU_NS
        sums = tuple(sum_ns * exp(lot.uniform(-noise, noise)) for _ in range(CYCLES))
        costs = {**run.costs, "sum": sums, "cpu": (cpu_ns,) * CYCLES}
        counts = {"messages": MESSAGES, "writes": MESSAGES, "write_cpu_ns": MESSAGES * 5_000}
        runs.append(changed(run, costs=costs, holds=0, hold_mean_ns=None, **counts))
    return cell, runs, sums_ns[OURS] / sums_ns["nodelay"]


@pytest.mark.parametrize(("load", "burst"), list(product(LOADS, BURSTS)))
@pytest.mark.parametrize("before", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("more", [-0.1, 0.02, 0.05, 0.15])
def test_the_truth_lies_between_the_bounds(
    load: float, burst: int, before: float, more: float
) -> None:
    cell, runs, truth = told(load, burst, more, before)
    found = predicted(Samples.of(runs), 0, cell, OURS, "nodelay")
    assert found is not None
    assert found.low <= truth * (1 + 1e-9)
    assert truth <= found.high * (1 + 1e-9)


@pytest.mark.parametrize(("load", "burst"), list(product(LOADS, BURSTS)))
def test_what_is_beyond_the_margin_is_never_held(load: float, burst: int) -> None:
    """The CPU time that is planted before the write is the least that is beyond the margin."""
    worse = next(
        found
        for more in (step / 200 for step in range(1, 200))
        if (found := told(load, burst, more, 1.0, noise=0.4))[2] > 1 + MARGIN
    )
    cell, runs, truth = worse
    assert truth < 1 + 2 * MARGIN
    (verdict,) = (each for each in verdicts_of([cell], Samples.of(runs)) if each.is_deciding)
    assert verdict.outcome != "held"
