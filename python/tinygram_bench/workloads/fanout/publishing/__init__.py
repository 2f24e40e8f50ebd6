"""The publishers under test: declared here, once.

To add one: a module with `publish(job)`, which makes its connections of `job.sockets`, warms up,
publishes in slices and ends its connections (job.py); and a line in PUBLISHERS.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from msgspec import Struct

from tinygram.strategies import Strategy
from tinygram_bench.host.packages import missing
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.ways.runtimes import IO_URING, LIBRARY, without_io_uring
from tinygram_bench.workloads.fanout.job import Job

Publish = Callable[[Job], None]


class Publisher(Struct, frozen=True):
    """A publisher on a runtime, in one implementation; `name` says what it calls to write."""

    runtime: str
    implementation: str
    name: str
    module: str
    strategies: tuple[str, ...]
    defaults: tuple[str, ...] = ("nodelay",)
    requires: tuple[str, ...] = ()

    def load(self) -> Publish:
        module = importlib.import_module(f"{__name__}.{self.module}")
        return cast(Publish, module.publish)

    def missing(self) -> str | None:
        """Why it cannot run here; None when it can."""
        return (without_io_uring() if self.name == IO_URING else None) or missing(self.requires)

    def supports(self, strategy: Strategy) -> bool:
        """Whether the strategy makes sense here, whatever its duration."""
        return strategy.name in {parse_strategy(text).name for text in self.strategies}


_BY_HAND = ("nodelay", "nagle")
_JOINED = ("nodelay", "tick", "nagle")


def _of_event_loop(runtime: str, requires: tuple[str, ...] = ()) -> tuple[Publisher, ...]:
    return (
        Publisher(
            *(runtime, "stdlib", "protocol", "event_loops", _JOINED),
            defaults=("nodelay", "tick"),
            requires=requires,
        ),
        Publisher(runtime, "stdlib", "streams", "event_loops", _JOINED, requires=requires),
        Publisher(
            *(runtime, "tinygram", "protocol", "event_loops", LIBRARY),
            defaults=("tick", "adaptive"),
            requires=requires,
        ),
    )


PUBLISHERS = (
    *_of_event_loop("asyncio"),
    *_of_event_loop("uvloop", ("uvloop",)),
    Publisher("native", "tinygram", "epoll", "native", _BY_HAND),
    Publisher("native", "tinygram", IO_URING, "native", _BY_HAND),
)
"""In the order of the tables."""


def publisher(runtime: str, implementation: str, name: str) -> Publisher:
    """The publisher of that name. Raises LookupError."""
    for known in PUBLISHERS:
        if (known.runtime, known.implementation, known.name) == (runtime, implementation, name):
            return known
    raise LookupError(f"no publisher {name} on {runtime} by {implementation}")
