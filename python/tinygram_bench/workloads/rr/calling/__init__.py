"""Callers: a file per runtime. To add one, write a module with `Callers`, and a line in RUNTIMES.

`Callers(order, content)` connects and warms up; its `run(start)` calls and returns a Tally. Both
raise CallError or OSError. With `keep_to(book)` before it, it calls at a rate.
"""

from __future__ import annotations

import importlib
import socket
import ssl
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol, cast

from msgspec import Struct, field

from tinygram_bench._native import CallBook, CallContent, CallLog, Histogram
from tinygram_bench.host.network.connections import unconnected_socket
from tinygram_bench.model.strategies import IO_URING
from tinygram_bench.tls.contexts import client_context
from tinygram_bench.ways.rows import Row
from tinygram_bench.ways.runtimes import LIBRARY as OF_LIBRARY
from tinygram_bench.workloads.rr.order import CallOrder, CallTimes, SliceTally, Start

BY_HAND = ("nagle", "nodelay")
"""The strategies of callers that write by hand."""
LIBRARY = tuple(text for text in OF_LIBRARY if text not in BY_HAND)
"""The library's strategies, for callers on event loops above it."""


class Runtime(Row, Struct, frozen=True):
    """The callers of a runtime: the module that has them, and how they can send."""

    module: str
    strategies: tuple[str, ...] = BY_HAND
    requires: tuple[str, ...] = ()
    has_tls: bool = False


_ON_LOOPS = {
    "asyncio": Runtime("event_loop_callers", (*BY_HAND, *LIBRARY), has_tls=True),
    "uvloop": Runtime(
        "event_loop_callers", (*BY_HAND, *LIBRARY), requires=("uvloop",), has_tls=True
    ),
}
RUNTIMES = {
    "threads": Runtime("threads_callers", has_tls=True),
    **_ON_LOOPS,
    "native": Runtime("native_callers"),
}
"""A blocking thread for each caller; a task with streams, on two loops; native threads.

uvloop joins what is written in one iteration of its loop, as the library does: several sends for a
request are then one write."""
ON_MANY = {
    **_ON_LOOPS,
    "native": Runtime("native_callers"),
    f"native/{IO_URING}": Runtime("native_callers", requires=(IO_URING,)),
}
"""Runtimes that have many connections without a thread for each; native ones by epoll or
io_uring."""

LOOK_EVERY = 16
"""Before one in this many calls a caller looks for a reply that came too early.

Native callers do the same (crates/load, rr/caller.rs). On a shared connection, replies are read as
they come, so that each early one is found.
"""
Parts = list[list[bytes]]


class CallError(Exception):
    """A call went wrong; the message says how."""


class Tally(Struct):
    """The callers' results; times in ns. `callers_time_ns`: the sum from start to each last reply.

    `slices`: results of each slice, where cases took turns; `call` then has only their calls. At a
    rate, `call` has times from when calls were due, and `start_delay` has how long after that they
    were begun: otherwise the wait for a late reply to the call before would be in none of the times
    (G. Tene, How NOT to Measure Latency: coordinated omission). `calls_not_begun` could not be
    begun in time, and `behind_ns` is how long the first of them had been due at the end.
    """

    calls: int = 0
    call: Histogram = field(default_factory=Histogram)
    start_delay: Histogram = field(default_factory=Histogram)
    connect: Histogram = field(default_factory=Histogram)
    call_time_ns: int = 0
    connect_time_ns: int = 0
    callers_time_ns: int = 0
    last_ns: int = 0
    calls_not_begun: int = 0
    behind_ns: int = 0
    slices: list[SliceTally] = field(default_factory=list)

    def record_call(self, begun_ns: int, ended_ns: int) -> None:
        """Count a call from the first write of its request to the last byte of its reply."""
        self.call.record(ended_ns - begun_ns)
        self.calls += 1
        self.call_time_ns += ended_ns - begun_ns
        self.last_ns = max(self.last_ns, ended_ns)

    def record_connect(self, took_ns: int) -> None:
        self.connect.record(took_ns)
        self.connect_time_ns += took_ns

    @classmethod
    def of_native(
        cls,
        counters: Iterable[tuple[str, int]],
        histograms: Iterable[tuple[str, Histogram]],
        slices: Iterable[tuple[list[int], int, int, int]],
    ) -> Tally:
        """What was added up natively: counters and histograms by their names, and slices."""
        named: dict[str, Any] = dict(histograms) | dict(counters)
        return cls(slices=[SliceTally(*each) for each in slices], **named)

    @classmethod
    def of_logs(cls, logs: Sequence[CallLog], start: Start) -> Tally:
        """What callers noted, in slices or at a rate. This is done when the last slice is over.

        Between its slices a case rests, and others might wait for the interpreter.
        """
        return cls.of_native(*CallLog.add_up(logs, start.native))

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> Tally:
        """What several callers found together."""
        found = cls(slices=merged_slices(each.slices for each in tallies))
        for each in tallies:
            found.calls += each.calls
            found.call.merge(each.call)
            found.start_delay.merge(each.start_delay)
            found.connect.merge(each.connect)
            found.call_time_ns += each.call_time_ns
            found.connect_time_ns += each.connect_time_ns
            found.callers_time_ns += each.callers_time_ns
            found.last_ns = max(found.last_ns, each.last_ns)
            found.calls_not_begun += each.calls_not_begun
            found.behind_ns = max(found.behind_ns, each.behind_ns)
        return found

    def after_warm_up(self, keeps_connects: bool) -> Tally:
        """A new tally, which keeps only the connect times of connections that stay."""
        return Tally(connect=self.connect) if keeps_connects else Tally()

    def counters(self) -> dict[str, int]:
        return {
            "calls": self.calls,
            "call_time_ns": self.call_time_ns,
            "connect_time_ns": self.connect_time_ns,
            "callers_time_ns": self.callers_time_ns,
            "last_ns": self.last_ns,
            "calls_not_begun": self.calls_not_begun,
            "behind_ns": self.behind_ns,
        }

    def histograms(self) -> dict[str, str]:
        return {
            "call_ns": self.call.to_base64(),
            "connect_ns": self.connect.to_base64(),
            "start_delay_ns": self.start_delay.to_base64(),
        }


def note_all(log: CallLog, of_spans: Sequence[Sequence[CallTimes]]) -> None:
    """Note what a caller did in each span, when the last is over: a list takes its calls faster."""
    for number, calls in enumerate(of_spans):
        for call in calls:
            log.note(number, call)


def merged_slices(of_each: Iterable[Sequence[SliceTally]]) -> list[SliceTally]:
    """What several callers found together, slice by slice; some may have found nothing at all."""
    known = [slices for slices in of_each if slices]
    return [
        SliceTally(
            [took_ns for each in together for took_ns in each.calls_ns],
            sum(each.callers_time_ns for each in together),
            max(each.last_ns for each in together),
            sum(each.calls for each in together),
        )
        for together in zip(*known, strict=True)
    ]


class Callers(Protocol):
    """Callers that are connected and have warmed up."""

    @property
    def warm_up_call_ns(self) -> int:
        """The mean time of a call in the warm-up, in ns; 0 where there was none."""

    def keep_to(self, book: CallBook) -> None:
        """From the start on, make calls when they are due, and not again and again."""

    def run(self, start: Start) -> Tally:
        """Let the callers call; return what they found. Raises CallError or OSError."""


def prepared(order: CallOrder, content: CallContent) -> Callers:
    """The callers of the order's runtime, ready to start."""
    module = importlib.import_module(f"{__name__}.{RUNTIMES[order.runtime].module}")
    return cast(Callers, module.Callers(order, content))


def parts_of(content: CallContent, sends: int) -> Parts:
    """Each request of the pool, cut into `sends` parts of equal length."""
    cut = []
    for index in range(content.request_count):
        request = content.request(index)
        ends = [len(request) * number // sends for number in range(sends + 1)]
        cut.append([request[begin:end] for begin, end in pairwise(ends)])
    return cut


def unconnected(order: CallOrder) -> socket.socket:
    """A socket with all its options set, before it is connected."""
    return unconnected_socket(
        order.host, order.congestion_control, order.client.host, is_nodelay=order.is_nodelay
    )


@lru_cache(maxsize=1)
def context_for(certificate: str | None) -> ssl.SSLContext | None:
    """The TLS context of connections, made once for all callers of a process; None: no TLS."""
    return None if certificate is None else client_context(certificate)


def early_bytes(sock: socket.socket, most: int) -> int:
    """How many bytes can be read now, decrypted or not; they are left there. Raises OSError.

    The socket must have no timeout: it either blocks or does not.
    """
    if isinstance(sock, ssl.SSLSocket) and sock.pending():
        return sock.pending()
    try:
        # An SSLSocket takes no flags, so its plain socket is asked, which holds records.
        return len(socket.socket.recv(sock, most, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except BlockingIOError:
        return 0


def check_silent(sock: socket.socket, index: int) -> None:
    """Raises CallError where there are bytes to read before request `index` is sent."""
    if early_bytes(sock, 1):
        raise early_reply(index)


def early_reply(index: int) -> CallError:
    """The error for a reply, or a part of one, that came before its request."""
    return CallError(
        f"bytes of a reply came before request {index} of a connection was sent: the server "
        "replies before it is asked, or more than it should"
    )


def short_reply(index: int, received: int, expected: int) -> CallError:
    """The error for a server that ended the connection too early."""
    return CallError(
        f"the server ended the connection after {received} of the {expected} bytes of the reply to "
        f"its request {index}"
    )


def check_reply(content: CallContent, index: int, reply: bytes) -> None:
    """Raises CallError unless it is the reply to request `index` of its connection."""
    if not content.is_reply(index, reply):
        raise CallError(
            f"the reply to request {index} of a connection is wrong: byte j of reply i is (i + j) "
            "modulo 251"
        )
