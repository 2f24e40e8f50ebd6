"""The runtimes, which drive the sending, and the strategies that make sense on each.

To add a runtime: a module with `run(sock, source, way)` and a line in RUNTIMES.
"""

from __future__ import annotations

import importlib
import socket
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct, field
from msgspec.structs import replace

from tinygram import Histogram, strategies
from tinygram.strategies import Strategy
from tinygram_bench.loads.source import Source
from tinygram_bench.model.strategies import IO_URING, parse_strategy
from tinygram_bench.tls.certificates import SERVER_NAME
from tinygram_bench.ways import rows

if TYPE_CHECKING:
    import ssl

PATIENCE_NS = 30_000_000_000
"""How long one of many connections may take nothing."""
MAX_BATCH_BYTES = 64 << 10
"""The largest batch."""


class Way(Struct):
    """How one run sends, and what it found out on the way."""

    runtime: str
    strategy: Strategy
    is_flat_out: bool
    holds_ns: array[int] = field(default_factory=lambda: array("Q"))
    """How long each batch's first message was held."""
    library_holds: Callable[[], Histogram] = Histogram
    """The holds by the library's own count, which cannot be reset."""
    child_pids: list[int] = field(default_factory=list)
    """Processes that send in our place."""
    tls: ssl.SSLContext | None = None
    """What the connection is encrypted with; None: it is not."""
    watch_writes: Callable[[], object] = lambda: None
    """A way that writes to another descriptor of the socket calls this when it has made it."""
    implementation: str = "stdlib"
    sockets: Sequence[socket.socket] = ()
    """All connections, where there are many."""
    own_calls: Callable[[], tuple[int, int]] | None = None
    """Writes, and writes that found a buffer full, of a way that counts its own."""
    on_handed_over: Callable[[], None] = lambda: None
    """A way on many connections calls this when the kernel has everything, before it ends them."""
    _warm_up_holds: Histogram = field(default_factory=Histogram)

    @property
    def server_name(self) -> str | None:
        """The name that the receiver's certificate must be for; None without TLS."""
        return None if self.tls is None else SERVER_NAME

    def on_start(self) -> None:
        """Forget earlier holds: the clock is about to start."""
        self.holds_ns = array("Q")
        self._warm_up_holds = self.library_holds()

    def holds(self) -> Histogram:
        holds = self.library_holds()
        holds.subtract(self._warm_up_holds)
        for hold_ns in self.holds_ns:
            holds.record(hold_ns)
        return holds


Send = Callable[[socket.socket, Source, Way], None]


class Runtime(rows.Row, Struct, frozen=True):
    """A runtime in one implementation, as one module sends in it.

    `defaults`: the strategies that run unless others are asked for. `runs_when`: whether the whole
    entry waits until its runtime, its implementation or either is asked for by name, or there are
    several producers. `has_producers`: whether several threads can hand messages over.
    `max_batch_bytes`: a batch this large leaves at once, where the strategy has batches. `tls_by`:
    who encrypts with `--tls`: the blocking socket, which was wrapped before, the event loop, or the
    kernel; None: nobody can.
    """

    name: str
    implementation: str
    module: str
    strategies: tuple[str, ...]
    defaults: tuple[str, ...]
    runs_when: Literal["always", "runtime", "implementation", "either", "several"] = "always"
    requires: tuple[str, ...] = ()
    has_producers: bool = False
    max_batch_bytes: int = MAX_BATCH_BYTES
    tls_by: Literal["socket", "loop", "kernel"] | None = None

    def load(self) -> Send:
        """Import what sends: `run(sock, source, way)` returns when every byte was handed over."""
        module = importlib.import_module(f"{__package__}.{self.module}")
        return cast(Send, module.run)


_PUBLISHED = ("nagle", "nodelay", "coalesce:10us")
_BLOCKING = (*_PUBLISHED, "cork", "more")
_QUEUED = (*_PUBLISHED, "cork", "timer:10us")
_BY_HAND = "by_hand.asyncio_streams"
_LIBRARY_DEFAULTS = ("tick", "coalesce:10us", "adaptive")
LIBRARY = tuple(str(strategy) for strategy in reversed(strategies.OF_LOOPS))
"""The library's own strategies on loops."""
_SHARED_DEFAULTS = ("combine", "coalesce:10us", "adaptive")
SHARED = tuple(str(strategy) for strategy in reversed(strategies.OF_THREADS))
"""The library's own strategies for threads that share a connection."""
_UVLOOP = ("uvloop",)

RUNTIMES = (
    Runtime("loop", "stdlib", "by_hand.loop", _BLOCKING, _PUBLISHED, tls_by="socket"),
    Runtime("loop", "tinygram", "library.loop", LIBRARY, _LIBRARY_DEFAULTS),
    Runtime(
        *("threads", "stdlib", "by_hand.threads", _BLOCKING, _PUBLISHED),
        has_producers=True,
        tls_by="socket",
    ),
    Runtime(
        *("threads", "stdlib-lock", "by_hand.threads_lock", ("nodelay", "nagle"), ("nodelay",)),
        runs_when="several",
        has_producers=True,
        tls_by="socket",
    ),
    Runtime(
        *("threads", "tinygram", "library.threads", SHARED, _SHARED_DEFAULTS),
        has_producers=True,
        max_batch_bytes=4 * MAX_BATCH_BYTES,
    ),
    Runtime(
        *("threads", "tinygram-lists", "library.threads_lists", SHARED, _SHARED_DEFAULTS),
        runs_when="implementation",
        has_producers=True,
        max_batch_bytes=4 * MAX_BATCH_BYTES,
    ),
    Runtime("asyncio", "stdlib", _BY_HAND, _QUEUED, _PUBLISHED, tls_by="loop"),
    Runtime("asyncio", "stdlib", "by_hand.asyncio_tick", ("tick",), ("tick",), tls_by="loop"),
    Runtime(
        *("asyncio", "tinygram", "library.event_loops", LIBRARY, _LIBRARY_DEFAULTS), tls_by="loop"
    ),
    Runtime(
        *("asyncio", "aiofastnet", "aiofastnet", ("nodelay",), ("nodelay",)),
        runs_when="implementation",
        requires=("aiofastnet",),
        tls_by="loop",
    ),
    Runtime(
        *("uvloop", "stdlib", _BY_HAND, _QUEUED, _PUBLISHED, "runtime", _UVLOOP), tls_by="loop"
    ),
    Runtime(
        *("uvloop", "stdlib", "by_hand.asyncio_tick", ("tick",), ("tick",), "runtime", _UVLOOP),
        tls_by="loop",
    ),
    Runtime(
        *("uvloop", "tinygram", "library.event_loops", LIBRARY, _LIBRARY_DEFAULTS),
        runs_when="either",
        requires=_UVLOOP,
        tls_by="loop",
    ),
    Runtime(
        *("uvloop", "aiofastnet", "aiofastnet", ("nodelay",), ("nodelay",)),
        runs_when="implementation",
        requires=("uvloop", "aiofastnet"),
        tls_by="loop",
    ),
    Runtime(
        *("processes", "stdlib", "by_hand.processes", _BLOCKING, _PUBLISHED, "runtime"),
        tls_by="socket",
    ),
    Runtime("native", "tinygram", "native", ("nagle", "nodelay", "tick"), ("nodelay", "tick")),
)
"""All runtimes, in the order of the tables."""
_MANY_DEFAULTS = ("tick", "adaptive")
ON_MANY = (
    Runtime("asyncio", "stdlib", "many.by_hand", ("nodelay",), ("nodelay",)),
    Runtime("asyncio", "tinygram", "many.library", LIBRARY, _MANY_DEFAULTS),
    Runtime("uvloop", "stdlib", "many.by_hand", ("nodelay",), ("nodelay",), requires=_UVLOOP),
    Runtime("uvloop", "tinygram", "many.library", LIBRARY, _MANY_DEFAULTS, requires=_UVLOOP),
    Runtime("native", "tinygram", "many.native", ("nodelay",), ("nodelay",)),
    Runtime(*("native", IO_URING, "many.native", ("nodelay",), ("nodelay",)), requires=(IO_URING,)),
)
"""Runtimes that send on many connections without a thread for each."""
KERNEL_TLS = Runtime(
    *("loop", rows.KERNEL_TLS, "by_hand.loop", _BLOCKING, ("nodelay", "more")),
    requires=(rows.KERNEL_TLS,),
    tls_by="kernel",
)
"""The same code as without TLS, whose writes the kernel encrypts; with TLS alone. Its sockets take
flags: what is sent with MSG_MORE joins the next record.
"""
HANDING_OVER = ("threads", "processes")
"""Runtimes whose producer hands its messages to a thread or process on its core, which sends."""


def runtimes_with(tls: bool, connections: int = 1) -> tuple[Runtime, ...]:
    """The runtimes that can send so: all of them in plain, with TLS those that encrypt.

    A socket that OpenSSL encrypts takes no flags, and so has not the strategy `more`.
    """
    if connections > 1:
        return ON_MANY
    if not tls:
        return RUNTIMES
    encrypting = (
        replace(known, strategies=tuple(text for text in known.strategies if text != "more"))
        for known in RUNTIMES
        if known.tls_by
    )
    return (*encrypting, KERNEL_TLS)


def runtime(
    name: str, implementation: str, strategy: Strategy, connections: int = 1, *, tls: bool = False
) -> Runtime:
    """The runtime that sends in that way, the kernel's TLS with `tls` alone. Raises LookupError."""
    there = ON_MANY if connections > 1 else (*RUNTIMES, *((KERNEL_TLS,) if tls else ()))
    return _in(there, name, implementation, strategy)


def missing(name: str, implementation: str, strategy: Strategy, *, tls: bool) -> str | None:
    """Why that way cannot send here; None where it can.

    On one connection or many: the hosts of a cluster share a case's connections, and may have one
    each. Raises LookupError for a way that there is not.
    """
    there = (*RUNTIMES, *ON_MANY, *((KERNEL_TLS,) if tls else ()))
    return _in(there, name, implementation, strategy).missing()


def _in(there: Sequence[Runtime], name: str, implementation: str, strategy: Strategy) -> Runtime:
    for known in there:
        is_of_name = (known.name, known.implementation) == (name, implementation)
        if is_of_name and known.supports(strategy):
            return known
    raise LookupError(f"no {strategy} on {name} by {implementation}")


def all_ways() -> Iterator[tuple[Runtime, Strategy]]:
    """Every combination that makes sense, in the order of the tables."""
    for known in RUNTIMES:
        for text in known.strategies:
            yield known, parse_strategy(text)


def default_ways() -> Iterator[tuple[Runtime, Strategy]]:
    """The ways that run by default.

    The nine published ways, asyncio by hand without a queue, the library's own, and the limits.
    """
    for known in RUNTIMES:
        if known.runs_when == "always":
            for text in known.defaults:
                yield known, parse_strategy(text)
