"""The offline optimum as a yardstick: delay + λ × writes, against the least that they can cost.

λ says how much delay of one message a write is worth. A write costs the sender about 4 µs of CPU
here (2.8 to 5 µs were measured, and the result says what its own runs show), so with λ = 4 µs a
microsecond of CPU is worth one of delay.

What a message costs: how long the strategy holds the first message of its batch, counted for every
message of the batch (so a bit too much), plus λ × writes per message. What waits because the sender
is busy is not in it, nor what the kernel holds: `nagle` has no figure. The optimum knows all
arrivals, and its writes take no time: it is a bound, which nobody reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import exp, log
from statistics import mean, median
from typing import NamedTuple

from claim.grid import Cell
from claim.runs import Measured
from claim.samples import Samples
from tinygram import _native
from tinygram.bench.result import Value

WRITE_COST_NS = 4_000
"""λ."""


class Yardstick(Value, frozen=True):
    """Mean costs per message in a cell, in ns: the optimum's, and each strategy's as multiples."""

    cell: int
    optimum_ns: float
    optimum_writes: float
    times: dict[str, float]


def yardsticks_of(cells: Sequence[Cell], samples: Samples, seed: int) -> tuple[Yardstick, ...]:
    """For each paced cell that was measured; `seed` is the set's."""
    found = []
    for number, cell in enumerate(cells):
        if cell.rate_per_s is None:
            continue
        times = {}
        rounds: set[int] = set()
        for strategy in (name for name in cell.strategies if name != "nagle"):
            runs = samples.of_strategy(number, strategy)
            found_costs = [_cost_ns(run) for run in runs]
            costs = [cost for cost in found_costs if cost is not None]
            if costs:
                rounds |= {run.round for run in runs}
                times[strategy] = median(costs)
        if not times:
            continue
        least = [_optimum(cell, seed + round) for round in sorted(rounds)]
        optimum_ns = mean(cost_ns for cost_ns, _ in least)
        writes = mean(writes for _, writes in least)
        multiples = {name: cost / optimum_ns for name, cost in times.items()}
        found.append(Yardstick(number, optimum_ns, writes, multiples))
    return tuple(found)


def middle_of(yardsticks: Sequence[Yardstick], names: Mapping[str, str]) -> dict[str, float]:
    """The geometric mean over the cells of each strategy's multiple; `names` joins strategies."""
    logs: dict[str, list[float]] = {}
    for yardstick in yardsticks:
        for strategy, times in yardstick.times.items():
            logs.setdefault(names.get(strategy, strategy), []).append(log(times))
    return {strategy: exp(mean(values)) for strategy, values in logs.items()}


def write_cost_ns(cells: Sequence[Cell], samples: Samples) -> float | None:
    """What a write costs here: CPU of `nodelay` above the gathering strategy, per write more.

    The median over flat-out cells with bursts, where the two make very different numbers of writes.
    """
    costs = []
    for number, cell in enumerate(cells):
        if cell.rate_per_s is not None or cell.burst == 1:
            continue
        each = _used(samples, number, "nodelay")
        few = _used(samples, number, cell.strategies[2])
        if each and few and each.writes > few.writes:
            costs.append((each.cpu_ns - few.cpu_ns) / (each.writes - few.writes))
    return median(costs) if costs else None


def _cost_ns(run: Measured) -> float | None:
    if run.writes is None:
        return None
    # A write without a hold has one message, which came while nothing was held.
    held_messages = max(0, run.messages - max(0, run.writes - run.holds))
    hold_ns = (run.hold_mean_ns or 0.0) * held_messages
    return (hold_ns + WRITE_COST_NS * run.writes) / run.messages


class _Used(NamedTuple):
    """Per message."""

    cpu_ns: float
    writes: float


def _used(samples: Samples, number: int, strategy: str) -> _Used | None:
    cpu_ns = samples.median(number, strategy, lambda run: run.cpu_ns / run.messages)
    writes = samples.median(
        number, strategy, lambda run: None if run.writes is None else run.writes / run.messages
    )
    return None if cpu_ns is None or writes is None else _Used(cpu_ns, writes)


@cache
def _optimum(cell: Cell, seed: int) -> tuple[float, float]:
    """(cost in ns, writes) per message."""
    assert cell.rate_per_s is not None
    assert cell.arrival is not None
    delay_ns, writes = _native.offline_optimum(
        cell.rate_per_s, cell.arrival, cell.burst, cell.duration_ns, seed, WRITE_COST_NS
    )
    messages = cell.scheduled_messages()
    return (delay_ns + WRITE_COST_NS * writes) / messages, writes / messages
