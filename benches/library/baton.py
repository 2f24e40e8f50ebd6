"""The baton of sides that take turns: what a side is told, and what it answers.

A side is a process of its own (sides/), and so is its far end. It connects, warms up and says that
it is ready. Then it waits for its turns in a read that blocks, so that it uses no CPU time while
others have theirs, and nobody has a turn before it has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tinygram_bench.model.value import Value
from tinygram_bench.processes.orders import Orders, Ready, carry_out
from tinygram_bench.runs.slices import SETTLING_SHARE


class Role(Value, frozen=True):
    """The role of a process: the words after its name.

    `port`: where its far end listens. `notes_fd`: the file that a far end leaves its notes in.
    """

    words: tuple[str, ...]
    port: int = 0
    notes_fd: int = -1


class Turn(Value, frozen=True):
    """The baton: send so many messages, or wait for so many replies."""

    count: int


class Took(Value, frozen=True):
    """The answer when all of them have arrived.

    `start_ns`: when the side began (CLOCK_MONOTONIC). `took_ns`: until it had handed over its
    messages, or had its replies. `cost_ns`: what one cost, where the side knows it by itself.
    """

    start_ns: int
    took_ns: int
    cost_ns: float | None = None


def run_side(act: Callable[[Role, Orders], None]) -> int:
    """Play the role that the channel names, until it ends. Returns the exit status."""
    return carry_out("tg-side", Role, act)


def turns(orders: Orders) -> Iterator[int]:
    """Say that this side is ready; then the number of messages of each turn, as it comes."""
    orders.say(Ready())
    while (turn := orders.hear(Turn)) is not None:
        yield turn.count


def settling(count: int) -> int:
    """How many of a turn's messages are not measured: caches and the connection are cold."""
    return round(count * SETTLING_SHARE)
