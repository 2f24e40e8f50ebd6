"""Who drives the sending, and which strategies make sense there: declared here, once.

To add a runtime: a module with `run(sock, source, way)` and a line in RUNTIMES.
"""

from __future__ import annotations

import importlib
import importlib.util
import socket
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from tinygram.bench.source import Source
from tinygram.bench.strategies import Strategy, parse_strategy

MAX_BATCH_BYTES = 64 << 10
"""What gathers in one batch at most."""


@dataclass
class Way:
    """How one run sends, and what it found out on the way."""

    runtime: str
    strategy: Strategy
    is_flat_out: bool
    holds_ns: array[int] = field(default_factory=lambda: array("Q"))
    """How long each batch's first message was held."""
    child_pids: list[int] = field(default_factory=list)
    """Processes that send in our place."""


Send = Callable[[socket.socket, Source, Way], None]


@dataclass(frozen=True)
class Runtime:
    """A runtime in one implementation; `requires` is a package that it cannot do without."""

    name: str
    implementation: str
    module: str
    strategies: tuple[str, ...]
    is_default: bool = True
    requires: str | None = None

    def load(self) -> Send:
        """Import what sends: `run(sock, source, way)` returns when every byte was handed over."""
        module = importlib.import_module(f"{__name__}.{self.module}")
        return cast(Send, module.run)

    def missing(self) -> str | None:
        """Why it cannot run here; None when it can."""
        if self.requires is None or importlib.util.find_spec(self.requires):
            return None
        return f"{self.requires} is not installed: pip install 'tinygram[{self.requires}]'"

    def supports(self, strategy: Strategy) -> bool:
        """Whether the strategy makes sense here, whatever its duration."""
        return strategy.name in {parse_strategy(text).name for text in self.strategies}


_PUBLISHED = ("nagle", "nodelay", "coalesce:10us")

RUNTIMES = (
    Runtime("loop", "stdlib", "stdlib.loop", (*_PUBLISHED, "cork", "more")),
    Runtime("threads", "stdlib", "stdlib.threads", (*_PUBLISHED, "cork", "more")),
    Runtime("asyncio", "stdlib", "stdlib.asyncio_streams", (*_PUBLISHED, "cork", "timer:10us")),
    Runtime(
        "uvloop",
        "stdlib",
        "stdlib.asyncio_streams",
        (*_PUBLISHED, "cork", "timer:10us"),
        is_default=False,
        requires="uvloop",
    ),
    Runtime(
        "processes", "stdlib", "stdlib.processes", (*_PUBLISHED, "cork", "more"), is_default=False
    ),
    Runtime("native", "tinygram", "native", ("nodelay", "tick")),
)

DEFAULT_STRATEGIES = (*_PUBLISHED, "tick")
"""What runs unless told otherwise: the nine published ways and the native limits."""


def runtime(name: str, implementation: str) -> Runtime:
    """The runtime of that name. Raises LookupError."""
    for known in RUNTIMES:
        if (known.name, known.implementation) == (name, implementation):
            return known
    raise LookupError(f"no runtime {name} by {implementation}")


def all_ways() -> Iterator[tuple[Runtime, Strategy]]:
    """Every combination that makes sense, in the order of the tables."""
    for known in RUNTIMES:
        for text in known.strategies:
            yield known, parse_strategy(text)
