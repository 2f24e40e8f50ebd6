"""What counts say where the delay's clock cannot: what ours costs beside the rival, predicted.

The delay of a message has parts that the host makes, and it makes them for both alike: it lets a
program wait, wakes the receiver late, takes a core away. They are what a clock cannot tell apart.
What differs between two strategies over the same arrivals is how long a message is held, which the
library counts itself; the sender's CPU time, which has a clock of its own that stands still while
others run; and how often what is behind a write waits for it. So a round's predicted ratio is

    1 + (CPU time more + hold more + waits for more writes) ÷ the rival's cost

with a lower and an upper bound. It assumes, beside what `_bounds` says of holds and waits, that
from its write to its receipt a message takes as long under both strategies, and that on average a
message of a batch waits for at least half as long as the first one. On threads a message that is
handed to another thread is held until that one writes, so that its wake-up is in the hold, and its
CPU time in the process's. Flat out nothing is predicted: there the time of a message is its CPU
time, and the clock knows that.
"""

from __future__ import annotations

from claim.grid import Cell
from claim.judging.compare import Rule, compared
from claim.judging.samples import Samples
from claim.judging.signed_rank import NO_BOUND
from claim.runs import Measured
from tinygram_bench.model.result import Figure

LEAST_KNOWN_HOLD = 0.5
"""The mean hold of a batch's messages ÷ that of its first one, at least."""
MOST_UNLIKE = 1.25
"""Batches gather alike where one strategy makes at most so many times the other's writes."""
WRITE_AND_READ = 2.0
"""What is behind a write waits for the sender's part of it, and for as much at the receiver."""
MOST_BUSY = 0.9
"""A sender that is busy for a larger share of the time queues, and how long is not predicted."""
FASTEST_PHASE = 4.6
"""How many times as busy as on average a sender is in the fastest phases of on/off arrivals."""
KERNEL_HOLDS = "nagle"
"""The strategy whose holds are the kernel's, and not counted: it may cost more than predicted."""
LEAST_RATIO = 0.01
"""What a prediction is at least: it is made of differences, and a ratio is above 0."""


def predicted(
    samples: Samples, number: int, cell: Cell, ours: str, rival: str, rule: Rule = compared
) -> Figure | None:
    """Delay + CPU time of ours ÷ the rival's: between the bounds of all rounds, by `rule`.

    The low end is the interval's of the rounds' lower bounds, the high end that of the upper ones.
    None: not known.
    """
    cost_ns = samples.cost_ns(number, rival, "sum")
    cpus_ns = [samples.cost_ns(number, name, "cpu") for name in (ours, rival)]
    price_ns = samples.write_price_ns(number, (ours, rival))
    if cell.rate_per_s is None or cost_ns is None or None in cpus_ns or price_ns is None:
        return None
    busy = max(each or 0.0 for each in cpus_ns) * cell.rate_per_s / 1e9
    if cell.arrival == "onoff":
        busy *= FASTEST_PHASE
    if busy > MOST_BUSY:
        return None
    lows, highs = {}, {}
    more_cpu = samples.ratios(number, ours, rival, "cpu")
    for round, (our, their) in samples.pairs(number, ours, rival).items():
        if round not in more_cpu:
            continue
        cpu_ns = (cpus_ns[1] or 0.0) * (more_cpu[round] - 1)
        bounds = _bounds(our, their, cell, cpu_ns, price_ns, 1 / (1 - busy))
        if bounds is None:
            return None
        lows[round], highs[round] = (max(1 + each / cost_ns, LEAST_RATIO) for each in bounds)
    middles = {round: (lows[round] * highs[round]) ** 0.5 for round in lows}
    low, middle, high = rule(lows), rule(middles), rule(highs)
    if low is None or middle is None or high is None:
        return None
    return Figure(middle.median, low.low, high.high)


def is_bounded(ratio: Figure) -> bool:
    """Whether there are rounds enough for an interval."""
    return ratio.high < NO_BOUND


def _bounds(
    ours: Measured, theirs: Measured, cell: Cell, cpu_ns: float, price_ns: float, queue: float
) -> tuple[float, float] | None:
    """What ours costs more than the rival in a round, in ns a message: at least, and at most.

    `cpu_ns`: of the sender. `queue`: how many times as long what comes meanwhile waits as the
    sender is busy longer. None: not known.

    Holds: where batches are alike, half of the difference of their first messages' holds at least
    and all of it at most; else each strategy's own hold is only known so well. Waits: what is
    behind a write that the other strategy does not make, a burst or a batch, waits for it; and
    where messages leave one by one, for the CPU time of those before.
    """
    ours_held, theirs_held = ours.held_ns, theirs.held_ns
    our_writes, their_writes = ours.writes_per_message, theirs.writes_per_message
    if ours_held is None or theirs_held is None or not our_writes or not their_writes:
        return None
    if max(our_writes, their_writes) <= MOST_UNLIKE * min(our_writes, their_writes):
        held = sorted((ours_held - theirs_held, LEAST_KNOWN_HOLD * (ours_held - theirs_held)))
    else:
        held = [
            LEAST_KNOWN_HOLD * ours_held - theirs_held,
            ours_held - LEAST_KNOWN_HOLD * theirs_held,
        ]
    together = max(cell.burst, 1 / our_writes, 1 / their_writes)
    wait_ns = WRITE_AND_READ * price_ns * (our_writes - their_writes) * together * queue
    at_once = max(ours.at_once_share or 0.0, theirs.at_once_share or 0.0)
    behind_ns = cpu_ns * queue * (1 + (together - 1) * at_once)
    low, high = sorted((cpu_ns, behind_ns))
    return low + held[0] + min(0.0, wait_ns), high + held[1] + max(0.0, wait_ns)
