"""What counts decide where a clock cannot: that ours does what the rival does.

In a loop a strategy says when messages leave, and nothing else. Over the same arrivals, two that
make as many writes, after as long holds of each batch's first message, make the same batches in all
likelihood: then they have the same delay and give the kernel the same work. What is left are their
decisions, some ten nanoseconds a message, and for `adaptive` on uvloop an iteration more for one in
seven single messages, 1 to 2 us. Counts have no noise: a clock, on a host that others use, knows
the same cell to a tenth.

Of threads they decide nothing: who writes, and how often a thread is woken, is part of the strategy
there.
"""

from __future__ import annotations

from claim.grid import Cell
from claim.judging.compare import MARGIN
from claim.judging.samples import Samples
from claim.runs import FigureName

MOST_APART = MARGIN / 2
"""The share of the rival's cost by which the two may be apart, and still do the same."""


def share_apart(
    samples: Samples, number: int, cell: Cell, figure: FigureName, ours: str, rival: str
) -> float | None:
    """By which share of the rival's cost writes and holds are apart, either way; 0: by nothing.

    All of the rival's cost is taken to grow with its writes, and each message to be held as long as
    the first one of its batch. None where it is not known, or does not say enough.
    """
    cost_ns = samples.cost_ns(number, rival, figure)
    if cell.runtime == "threads" or not cost_ns:
        return None
    our_writes, their_writes = (
        samples.median(number, name, lambda run: run.writes_per_message) for name in (ours, rival)
    )
    our_hold_ns, their_hold_ns = (
        samples.median(number, name, lambda run: run.hold_per_write_ns) for name in (ours, rival)
    )
    if our_writes is None or not their_writes or our_hold_ns is None or their_hold_ns is None:
        return None
    by_holds = 0.0 if figure == "throughput" else abs(our_hold_ns - their_hold_ns) / cost_ns
    return abs(our_writes / their_writes - 1) + by_holds
