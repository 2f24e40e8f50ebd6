"""What counts decide where a clock cannot: as many writes and as long holds as the rival's.

A strategy says when messages leave, and nothing else. Two that make the same writes after the same
holds have the same delay and the same work for the kernel; they differ by what their decisions cost
alone, some ten nanoseconds a message. Counts are not noise: they are known exactly where a clock,
on a host that others use, knows the same cell to a tenth.
"""

from __future__ import annotations

from claim.judging.compare import MARGIN
from claim.judging.samples import Samples
from claim.runs import FigureName

MOST_MORE = MARGIN / 2
"""The share of the rival's cost by which ours may be estimated to cost more, and still be held."""


def share_more(
    samples: Samples, number: int, figure: FigureName, ours: str, rival: str
) -> float | None:
    """How much more ours can cost, as a share of the rival's cost, by what was counted; 0: nothing.

    All of the rival's cost is taken to grow with its writes, and every message to be held as long
    as the first one of its batch: both are more than is true. None where it is not known.
    """
    cost_ns = samples.cost_ns(number, rival, figure)
    if not cost_ns:
        return None
    more = 0.0
    our_writes, their_writes = (
        samples.median(number, name, lambda run: run.writes_per_message) for name in (ours, rival)
    )
    our_hold_ns, their_hold_ns = (
        samples.median(number, name, lambda run: run.hold_per_write_ns) for name in (ours, rival)
    )
    if our_writes is None or not their_writes or our_hold_ns is None or their_hold_ns is None:
        return None
    more += max(0.0, our_writes / their_writes - 1)
    if figure != "throughput":
        more += max(0.0, our_hold_ns - their_hold_ns) / cost_ns
    return more
