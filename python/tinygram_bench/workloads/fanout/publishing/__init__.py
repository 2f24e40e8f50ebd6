"""The publishers under test: declared here, once.

To add one, write a module with `publish(job)`, which makes its connections of `job.sockets`, warms
up, publishes in slices and ends its connections (job.py); and add a line to PUBLISHERS.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from msgspec import Struct

from tinygram_bench.model.strategies import IO_URING
from tinygram_bench.ways.rows import Row
from tinygram_bench.ways.runtimes import LIBRARY
from tinygram_bench.workloads.fanout.job import Job

Publish = Callable[[Job], None]


class Publisher(Row, Struct, frozen=True):
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
    Publisher("native", "tinygram", IO_URING, "native", _BY_HAND, requires=(IO_URING,)),
)
"""In the order of the tables."""


def publisher(runtime: str, implementation: str, name: str) -> Publisher:
    """The publisher of that name. Raises LookupError."""
    for known in PUBLISHERS:
        if (known.runtime, known.implementation, known.name) == (runtime, implementation, name):
            return known
    raise LookupError(f"no publisher {name} on {runtime} by {implementation}")
