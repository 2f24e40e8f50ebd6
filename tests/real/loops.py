"""The event loops that the programs run on: each base as it is, and the drop-in over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import uvloop

import tinygram

T = TypeVar("T")
Loop = asyncio.AbstractEventLoop

BASES: dict[str, type[Any]] = {"asyncio": asyncio.SelectorEventLoop, "uvloop": uvloop.Loop}
KINDS = ("stock", "tinygram")
NAMES = tuple(f"{kind}-{base}" for base in BASES for kind in KINDS)
"""E.g. `stock-asyncio`, `tinygram-uvloop`. A stock loop shows that the test itself is right."""

_TIMEOUT_S = 60.0


def new_loop(name: str, strategy: tinygram.Strategy = tinygram.adaptive) -> Loop:
    """A new loop of the name; the strategy is ours to follow."""
    kind, base = name.split("-")
    if kind == "stock":
        stock: Loop = BASES[base]()
        return stock
    return tinygram.new_event_loop(base=BASES[base], strategy=strategy)


class Programs:
    """Runs coroutines on one kind of loop."""

    def __init__(self, name: str, strategy: tinygram.Strategy = tinygram.adaptive) -> None:
        self.name = name
        self.is_ours = name.startswith("tinygram-")
        self._strategy = strategy

    def ticking(self) -> Programs:
        """The same with `tick`, which joins what an iteration writes however slow the host is.

        `adaptive` joins what comes within 20 µs; where a program needs longer for each message,
        it has none to join.
        """
        return Programs(self.name, tinygram.tick)

    def __call__(self, program: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run it to its end, in a minute at most; what the loop was told went wrong, raises."""
        told: list[dict[str, Any]] = []

        async def bounded() -> T:
            asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(what))
            async with asyncio.timeout(_TIMEOUT_S):
                return await program()

        with asyncio.Runner(loop_factory=lambda: new_loop(self.name, self._strategy)) as runner:
            result = runner.run(bounded())
        assert not told, told
        return result

    def check_kind(self, transport: Any) -> None:
        """That the program sent through a transport of ours on our loops, and only there."""
        assert isinstance(transport, tinygram.Transport) == self.is_ours, transport
        if self.is_ours:
            stats = transport.stats()
            assert 0 < stats.writes <= stats.messages, stats

    def check_joins(self, transport: Any) -> None:
        """Also that `tick` joined the messages of a program which left that to it."""
        self.check_kind(transport)
        if self.is_ours and self._strategy == tinygram.tick:
            stats = transport.stats()
            assert stats.messages >= 2 * stats.writes, stats
