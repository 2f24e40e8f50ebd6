"""What counts say where the delay's clock cannot: what ours costs beside the rival, predicted.

The delay of a message has parts that the host makes, and it makes them for both alike: it lets a
program wait, wakes the receiver late, takes a core away. They are what a clock cannot tell apart.
What differs between two strategies over the same arrivals is how long a message is held, which the
library counts itself; the sender's CPU time, which has a clock of its own that stands still while
others run; and how often what is behind a write waits for it. So a round's predicted ratio is

    1 + (CPU time more + hold more + waits for more writes) ÷ the rival's cost

for the least and the most that the parts may weigh, each the same in all rounds (`_unknowns`).
The rival's cost is what it is in calm slices, or in usual ones: a host that stops both would make
any difference small. It assumes, beside what is said there, that from its write to its receipt a
message takes as long under both strategies, and that on average a message of a batch waits for at
least half as long as the first one. On threads a message that is handed to another thread is held
until that one writes, so that its wake-up is in the hold, and its CPU time in the process's. Flat
out nothing is predicted: there the time of a message is its CPU time, and the clock knows that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from statistics import median
from typing import NamedTuple

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


class _Unknown(NamedTuple):
    """What is not known, and is the same in all rounds.

    `stretch`: how much delay + CPU time grow with each nanosecond of CPU time a message: by 1, the
    CPU time itself, and by what messages wait longer. `wait_ns`: what an additional write a message
    adds to the delay of one. `ours`, `theirs`: the mean hold of a batch's messages ÷ that of its
    first one.
    """

    stretch: float
    wait_ns: float
    ours: float
    theirs: float


def predicted(
    samples: Samples, number: int, cell: Cell, ours: str, rival: str, rule: Rule = compared
) -> Figure | None:
    """Delay + CPU time of ours ÷ the rival's, with an interval of the rounds by `rule`.

    It has the intervals of all that the unknowns may be, from the lowest end to the highest. None:
    not known.
    """
    costs_ns = samples.calm_and_usual_cost_ns(number, rival, "sum")
    price_ns = samples.write_price_ns(number, (ours, rival))
    load = _load(samples, number, cell, (ours, rival))
    rival_cpu_ns = samples.cost_ns(number, rival, "cpu")
    if costs_ns is None or price_ns is None or load is None or rival_cpu_ns is None:
        return None
    more_cpu = samples.ratios(number, ours, rival, "cpu")
    known = {
        round: parts
        for round, (our, their) in samples.pairs(number, ours, rival).items()
        if round in more_cpu and (parts := _parts(our, their, more_cpu[round], rival_cpu_ns))
    }
    found = []
    unknowns = _unknowns(list(known.values()), cell, price_ns, 1 / (1 - load) ** 2)
    for unknown, cost_ns in product(unknowns, costs_ns):
        ratios = {
            round: max(1 + parts.more_ns(unknown) / cost_ns, LEAST_RATIO)
            for round, parts in known.items()
        }
        found.append(rule(ratios))
    figures = [each for each in found if each is not None]
    if not figures:
        return None
    middle = (min(each.median for each in figures) * max(each.median for each in figures)) ** 0.5
    return Figure(middle, min(each.low for each in figures), max(each.high for each in figures))


def is_bounded(ratio: Figure) -> bool:
    """Whether there are rounds enough for an interval."""
    return ratio.high < NO_BOUND


def _load(samples: Samples, number: int, cell: Cell, strategies: Sequence[str]) -> float | None:
    """The share of the time that the busier sender is busy; None: too large, or not known."""
    cpus_ns = [samples.cost_ns(number, name, "cpu") for name in strategies]
    if cell.rate_per_s is None or None in cpus_ns:
        return None
    load = max(each or 0.0 for each in cpus_ns) * cell.rate_per_s / 1e9
    if cell.arrival == "onoff":
        load *= FASTEST_PHASE
    return load if load <= MOST_BUSY else None


class _Parts(NamedTuple):
    """What is known of a round: CPU time more, holds, writes, and what left at once, a message."""

    cpu_ns: float
    ours_held_ns: float
    theirs_held_ns: float
    our_writes: float
    their_writes: float
    at_once: float

    def more_ns(self, unknown: _Unknown) -> float:
        """What ours costs more than the rival."""
        held_ns = unknown.ours * self.ours_held_ns - unknown.theirs * self.theirs_held_ns
        wait_ns = unknown.wait_ns * (self.our_writes - self.their_writes)
        return unknown.stretch * self.cpu_ns + held_ns + wait_ns


def _parts(ours: Measured, theirs: Measured, cpu: float, rival_cpu_ns: float) -> _Parts | None:
    """None: not known. `cpu`: the CPU time of ours ÷ the rival's."""
    ours_held, theirs_held = ours.held_ns, theirs.held_ns
    our_writes, their_writes = ours.writes_per_message, theirs.writes_per_message
    if ours_held is None or theirs_held is None or not our_writes or not their_writes:
        return None
    at_once = max(ours.at_once_share or 0.0, theirs.at_once_share or 0.0)
    more_cpu_ns = rival_cpu_ns * (cpu - 1)
    return _Parts(more_cpu_ns, ours_held, theirs_held, our_writes, their_writes, at_once)


def _unknowns(
    rounds: Sequence[_Parts], cell: Cell, price_ns: float, queue: float
) -> Iterator[_Unknown]:
    """The corners of what is not known. `queue`: how much more delay a longer service makes.

    That of a queue of one server, with arrivals and services as irregular as Poisson's, whose time
    is service ÷ (1 − load): it grows by 1 ÷ (1 − load)² of what the service does. CPU time is in
    the cost once, and once more in the delay where it is spent before the write; after it none is.
    Holds: where batches are alike, both have the same share of their first messages' holds. Waits:
    what is behind a write that the other strategy does not make, a burst or a batch, waits for it;
    and where messages leave one by one, for the CPU time of those before.
    """
    if not rounds:
        return
    our_writes = median(each.our_writes for each in rounds)
    their_writes = median(each.their_writes for each in rounds)
    together = max(cell.burst, 1 / our_writes, 1 / their_writes)
    is_alike = max(our_writes, their_writes) <= MOST_UNLIKE * min(our_writes, their_writes)
    stretch = 1 + queue * (1 + (together - 1) * median(each.at_once for each in rounds))
    wait_ns = WRITE_AND_READ * price_ns * together * queue
    shares = (LEAST_KNOWN_HOLD, 1.0)
    for one, wait, ours, theirs in product((1.0, stretch), (0.0, wait_ns), shares, shares):
        if ours == theirs or not is_alike:
            yield _Unknown(one, wait, ours, theirs)
