"""The offline optimum as a yardstick: delay + λ × writes, against the least that they can cost.

λ says how much delay of one message a write is worth. A write costs the sender about 4 µs of CPU
here (2.8 to 5 µs were measured, and the result says what its own runs show), so with λ = 4 µs a
microsecond of CPU is worth one of delay.

A strategy's delay is put in twice. *Held*: how long it holds the first message of its batch,
counted for every message of the batch (so a bit too much). What waits because the sender is busy is
not in it, nor what the kernel holds: `nagle` has no figure. The optimum counts from the scheduled
times, so beside it a sender that falls behind looks better than it is: strategies that cannot keep
up are left out. *Received*: from due to received, all of it, the way through the kernel included,
which the optimum has not. The optimum knows all arrivals, and its writes take no time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import exp, log
from statistics import mean, median
from typing import NamedTuple

from claim.grid import Cell, gathering, name_on_all_runtimes
from claim.judging.doubts import is_overloaded
from claim.judging.samples import Samples
from claim.runs import Measured
from tinygram_bench import _native
from tinygram_bench.model.value import Value

WRITE_COST_NS = 4_000
"""λ."""


class Yardstick(Value, frozen=True):
    """Mean costs per message in a cell, in ns: the optimum's, and each strategy's as multiples.

    `held` and `received` say which delay is in it.
    """

    cell: int
    optimum_ns: float
    optimum_writes: float
    held: dict[str, float]
    received: dict[str, float]


def yardsticks_of(cells: Sequence[Cell], samples: Samples, seed: int) -> tuple[Yardstick, ...]:
    """For each paced cell that was measured; `seed` is the set's."""
    found = []
    for number, cell in enumerate(cells):
        if cell.rate_per_s is None:
            continue
        able = [name for name in cell.strategies if not is_overloaded(samples, number, cell, name)]
        held, received = (
            {name: ns for name in able if (ns := samples.median(number, name, cost)) is not None}
            for cost in (_held_ns, _received_ns)
        )
        held.pop("nagle", None)
        rounds = {run.round for name in able for run in samples.of_strategy(number, name)}
        if not received:
            continue
        least = [_optimum(cell, seed + round) for round in sorted(rounds)]
        optimum_ns = mean(cost_ns for cost_ns, _ in least)
        found.append(
            Yardstick(
                cell=number,
                optimum_ns=optimum_ns,
                optimum_writes=mean(writes for _, writes in least),
                held={name: cost / optimum_ns for name, cost in held.items()},
                received={name: cost / optimum_ns for name, cost in received.items()},
            )
        )
    return tuple(found)


def middle_of(times: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The geometric mean over the cells of each strategy's multiple, under one name everywhere."""
    logs: dict[str, list[float]] = {}
    for of_cell in times:
        for strategy, multiple in of_cell.items():
            logs.setdefault(name_on_all_runtimes(strategy), []).append(log(multiple))
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
        few = _used(samples, number, gathering(cell.runtime))
        if each and few and each.writes > few.writes:
            costs.append((each.cpu_ns - few.cpu_ns) / (each.writes - few.writes))
    return median(costs) if costs else None


def _held_ns(run: Measured) -> float | None:
    if run.writes is None:
        return None
    # A write without a hold has one message, which came while nothing was held.
    held_messages = max(0, run.messages - max(0, run.writes - run.holds))
    hold_ns = (run.hold_mean_ns or 0.0) * held_messages
    return (hold_ns + WRITE_COST_NS * run.writes) / run.messages


def _received_ns(run: Measured) -> float | None:
    if run.writes is None or run.delay_mean_ns is None:
        return None
    return run.delay_mean_ns + WRITE_COST_NS * run.writes / run.messages


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
