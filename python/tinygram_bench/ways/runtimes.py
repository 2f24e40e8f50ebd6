"""The runtimes, which drive the sending, and the strategies that make sense on each.

To add a runtime, write a module with `run(sock, source, way)`, and a line in RUNTIMES.
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
"""How long one of many connections may take no bytes."""
MAX_BATCH_BYTES = 64 << 10
"""The largest batch."""


class Way(Struct):
    """How one run sends, and what it has measured meanwhile."""

    runtime: str
    strategy: Strategy
    is_flat_out: bool
    holds_ns: array[int] = field(default_factory=lambda: array("Q"))
    """How long each batch's first message was held, in ns."""
    library_holds: Callable[[], Histogram] = Histogram
    """The holds as the library has recorded them; its histogram cannot be reset."""
    child_pids: list[int] = field(default_factory=list)
    """Processes that send in place of this one."""
    tls: ssl.SSLContext | None = None
    """The TLS context of the connection; None: it is not encrypted."""
    watch_writes: Callable[[], object] = lambda: None
    """A way that writes to another descriptor of the socket calls this after making that."""
    implementation: str = "stdlib"
    sockets: Sequence[socket.socket] = ()
    """All connections, where there are many."""
    own_calls: Callable[[], tuple[int, int]] | None = None
    """For a way that counts its own calls: writes, and writes that found a buffer full."""
    on_handed_over: Callable[[], None] = lambda: None
    """A way on many connections calls this when the kernel has every byte, before it ends them."""
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
    """A runtime in one implementation, with the module that sends.

    `defaults`: the strategies that run unless others are asked for. `runs_when`: whether the entry
    runs always, or only where its runtime, its implementation or either is asked for by name, or
    there are several producers. `has_producers`: whether several threads can hand messages over.
    `max_batch_bytes`: a batch this large leaves at once, where the strategy has batches. `tls_by`:
    what encrypts with `--tls`: the blocking socket, which was wrapped before, the event loop, or
    the kernel; None: nothing can.
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
    imports: tuple[str, ...] = ()

    def load(self) -> Send:
        """Import the module's `run(sock, source, way)`, which returns when all was handed over."""
        self.import_used()
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
_OUR_LOOP = ("tinygram.aio.loop",)

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
        *("asyncio", "tinygram", "library.event_loops", LIBRARY, _LIBRARY_DEFAULTS),
        tls_by="loop",
        imports=_OUR_LOOP,
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
        imports=_OUR_LOOP,
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
    Runtime("asyncio", "tinygram", "many.library", LIBRARY, _MANY_DEFAULTS, imports=_OUR_LOOP),
    Runtime("uvloop", "stdlib", "many.by_hand", ("nodelay",), ("nodelay",), requires=_UVLOOP),
    Runtime(
        *("uvloop", "tinygram", "many.library", LIBRARY, _MANY_DEFAULTS),
        requires=_UVLOOP,
        imports=_OUR_LOOP,
    ),
    Runtime("native", "tinygram", "many.native", ("nodelay",), ("nodelay",)),
    Runtime(*("native", IO_URING, "many.native", ("nodelay",), ("nodelay",)), requires=(IO_URING,)),
)
"""Runtimes that send on many connections without a thread for each."""
LOOP_ON_KERNEL_TLS = Runtime(
    *("loop", rows.KERNEL_TLS, "by_hand.loop", _BLOCKING, ("nodelay", "more")),
    requires=(rows.KERNEL_TLS,),
    tls_by="kernel",
)
"""The same code as without TLS, with writes that the kernel encrypts; only with TLS. Its sockets
take flags: what is sent with MSG_MORE joins the next record.
"""
HANDING_OVER = ("threads", "processes")
"""Runtimes whose producer hands its messages to a thread or process on the same core, which
sends."""


def runtimes_with(tls: bool, connections: int = 1) -> tuple[Runtime, ...]:
    """The runtimes that can send like this: all of them in plain, with TLS those that encrypt.

    A socket that OpenSSL encrypts takes no flags, and so cannot have the strategy `more`. None
    encrypts on many connections.
    """
    if not tls:
        return ON_MANY if connections > 1 else RUNTIMES
    if connections > 1:
        return ()
    encrypting = (
        replace(known, strategies=tuple(text for text in known.strategies if text != "more"))
        for known in RUNTIMES
        if known.tls_by
    )
    return (*encrypting, LOOP_ON_KERNEL_TLS)


def runtime(
    name: str, implementation: str, strategy: Strategy, connections: int = 1, *, tls: bool = False
) -> Runtime:
    """The runtime of that way, which with `tls` encrypts. Raises LookupError."""
    return _in(runtimes_with(tls, connections), name, implementation, strategy)


def missing(name: str, implementation: str, strategy: Strategy, *, tls: bool) -> str | None:
    """Why that way cannot send here; None where it can.

    Ways on one connection and on many are looked up: hosts of a cluster share a case's connections,
    and may have one each. Raises LookupError for an unknown way.
    """
    there = (*runtimes_with(tls), *(() if tls else ON_MANY))
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
