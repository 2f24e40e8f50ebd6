"""What a call of `send` costs, written as users write it: `for m in messages: sock.send(m)`.

Messages of 100 bytes are held, nothing is written meanwhile, and buffers have grown: what is left
is the call, the copy, and the loop around it, whose own cost is the first row. Blocks of all rows
are timed in random order on one core; a round's figure is the median of its blocks.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from statistics import median
from typing import Any

from counts.faces import ROOMY, drain, pair
from msgspec import Struct
from pairs import SEED, at_most, show_environment, side_by_side
from published.stored import Asked, Column, Row, figure
from published.telling import asked_into, store, tell

import tinygram
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.statistics.figures.intervals import figure_of

_MESSAGE = bytes(100)
_MESSAGES = [_MESSAGE] * 1_920
_ROUNDS = 9
_BLOCKS = 100
"""How many blocks of each row are timed in a round."""
_SETTLE_S = 0.0005
"""After the first message of a block, until the writing thread waits for the end of its hold."""
_MOST_NS = 40
_COLUMNS = (Column("ns a message", "ns", 1),)


class _Side(Struct, frozen=True):
    """`send` sends a block; `settle` begins one with a message that is not timed.

    `end` sends what is held, and reads it. `is_asked`: whether the bound is for it.
    """

    send: Callable[[], None]
    settle: Callable[[], None] = lambda: None
    end: Callable[[], None] = lambda: None
    is_asked: bool = False

    def block_ns(self) -> float:
        """How long a message of a block takes, in ns."""
        self.settle()
        begun_ns = time.perf_counter_ns()
        self.send()
        took_ns = time.perf_counter_ns() - begun_ns
        self.end()
        return took_ns / len(_MESSAGES)


def main() -> int:
    into = asked_into(__doc__)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with cores_awake(), ExitStack() as stack:
        show_environment("cubic")
        rows = [*_measured(stack)]
        return store(into, "send_calls", "send-calls", "row", _COLUMNS, rows)


def _measured(stack: ExitStack) -> Iterator[Row]:
    sides = _sides(stack)
    dice = random.Random(SEED)
    rounds = [
        side_by_side({name: side.block_ns for name, side in sides.items()}, _BLOCKS, dice)
        for _ in range(_ROUNDS)
    ]
    for name, side in sides.items():
        found = figure_of([median(each[name]) for each in rounds])
        is_asked = side.is_asked
        row = Row(
            name,
            {"ns": figure(found)},
            Asked(at_most=_MOST_NS) if is_asked else None,
            at_most(found, _MOST_NS) if is_asked else None,
        )
        asked = f", asked at most {_MOST_NS}" if is_asked else ""
        yield tell(row, f"{found.median:.1f} ns ({found.low:.1f}-{found.high:.1f}){asked}")


def _sides(stack: ExitStack) -> dict[str, _Side]:
    return {
        "the loop alone": _Side(_pass),
        "CoalescingSocket: sock.send(m)": _threads(stack, _send_each),
        "CoalescingSocket: sock.send_many(messages)": _threads(stack, _send_many),
        "batch: out.send(m)": _batch(stack, _send_each),
        "batch: out.send_many(messages)": _batch(stack, _send_many),
    }


def _pass() -> None:
    for _ in _MESSAGES:
        pass


def _send_each(out: Any) -> None:
    for message in _MESSAGES:
        out.send(message)


def _send_many(out: Any) -> None:
    out.send_many(_MESSAGES)


def _batch(stack: ExitStack, send: Callable[[Any], None]) -> _Side:
    ours, peer = map(stack.enter_context, pair())
    out = tinygram.batch(ours, **ROOMY)

    def end() -> None:
        out.flush()
        drain(peer, len(_MESSAGES) * len(_MESSAGE))

    return _Side(lambda: send(out), end=end, is_asked=send is _send_each)


def _threads(stack: ExitStack, send: Callable[[Any], None]) -> _Side:
    ours, peer = map(stack.enter_context, pair())
    sock = tinygram.CoalescingSocket(ours, **ROOMY)
    stack.callback(sock.abort)

    def settle() -> None:
        sock.send(_MESSAGE)
        time.sleep(_SETTLE_S)

    def end() -> None:
        sock.flush()
        drain(peer, (1 + len(_MESSAGES)) * len(_MESSAGE))

    return _Side(lambda: send(sock), settle, end, is_asked=send is _send_each)


if __name__ == "__main__":
    sys.exit(main())
