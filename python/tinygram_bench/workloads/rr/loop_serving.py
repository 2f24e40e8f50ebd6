"""The servers on event loops, asyncio and uvloop as subjects."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping
from typing import cast

from msgspec import Struct
from msgspec.structs import asdict

from tinygram_bench._native import CallContent, RequestReader
from tinygram_bench.host.network.connections import Listener
from tinygram_bench.tls.contexts import server_context
from tinygram_bench.tls.decrypting import Decrypting
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.workloads.rr.order import ServerOrder


def serve_on_loop(
    order: ServerOrder, content: CallContent, stop_fd: int, announce: Callable[[int], None]
) -> Mapping[str, int]:
    """`serve` on the event loop of the order's runtime. Raises OSError."""
    with asyncio.Runner(loop_factory=loop_factory(order.runtime)) as runner:
        counts = runner.run(_serve(order, content, stop_fd, announce))
    return counts.named(is_encrypted=order.tls is not None)


class _Counts(Struct):
    """The counters of the native server."""

    connections: int = 0
    requests: int = 0
    split_requests: int = 0
    rest_ns: int = 0
    reads: int = 0
    short_requests: int = 0
    wrong_requests: int = 0
    failed_connections: int = 0
    strangers: int = 0
    tls_records: int = 0
    wire_bytes: int = 0

    def named(self, *, is_encrypted: bool) -> dict[str, int]:
        counted = asdict(self)
        own_names = {name: counted.pop(name) for name in ("strangers", "tls_records", "wire_bytes")}
        if not is_encrypted:
            own_names = {"strangers": self.strangers}
        return {f"server_{name}": n for name, n in counted.items()} | own_names


async def _serve(
    order: ServerOrder, content: CallContent, stop_fd: int, announce: Callable[[int], None]
) -> _Counts:
    counts = _Counts()
    loop = asyncio.get_running_loop()
    is_stopped = asyncio.Event()
    context = None if order.tls is None else server_context(order.tls)
    listener = Listener(order.host, order.client, order.congestion_control, order.backlog)

    def make_connection() -> _Connection:
        if context is None:
            return _Connection(order, listener, content, counts)
        return _EncryptedConnection(order, listener, content, counts, Decrypting(context))

    server = await loop.create_server(make_connection, sock=listener, backlog=order.backlog)
    loop.add_reader(stop_fd, is_stopped.set)
    announce(listener.port)
    await is_stopped.wait()
    loop.remove_reader(stop_fd)
    server.close()
    counts.strangers = listener.strangers
    return counts


class _Connection(asyncio.Protocol):
    """A connection; it answers each request as soon as that is whole."""

    def __init__(
        self, order: ServerOrder, listener: Listener, content: CallContent, counts: _Counts
    ) -> None:
        self._order = order
        self._listener = listener
        self._content = content
        self._counts = counts
        self._reader = RequestReader(content)
        self._answered = 0
        self._part_since_ns: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set TCP_NODELAY as ordered: both loops switch it on by themselves."""
        self._transport = cast(asyncio.Transport, transport)
        self._sock = transport.get_extra_info("socket")
        peer = transport.get_extra_info("peername")
        if not self._listener.admit(self._sock.fileno(), peer):
            self._transport.abort()
            return
        self._counts.connections += 1
        is_nodelay = self._order.strategy == "nodelay"
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, is_nodelay)

    def data_received(self, data: bytes) -> None:
        """Count and compare the bytes, and answer the requests that are whole."""
        self._counts.reads += 1
        if self._order.has_quickack:
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        try:
            completed = self._reader.push(data)
        except ValueError:
            self._counts.wrong_requests += 1
            self._transport.abort()
            return
        if completed:
            self._counts.requests += completed
            self._reply(self._content.replies(self._answered, completed))
            self._answered += completed
        if self._part_since_ns is not None or not self._reader.is_between_requests:
            self._time_parts(completed)

    def _reply(self, replies: bytes) -> None:
        self._transport.write(replies)

    def _time_parts(self, completed: int) -> None:
        """Count how long the rest of a request took to come.

        The very first request is left out: the bench withholds its end to see that the server
        waits.
        """
        now_ns = time.monotonic_ns()
        if completed and self._part_since_ns is not None:
            if self._counts.requests > completed:
                self._counts.split_requests += 1
                self._counts.rest_ns += now_ns - self._part_since_ns
            self._part_since_ns = None
        if self._part_since_ns is None and not self._reader.is_between_requests:
            self._part_since_ns = now_ns

    def eof_received(self) -> None:
        """The peer ended its side; the transport closes when all is written."""
        if not self._reader.is_between_requests:
            self._counts.short_requests += 1

    def connection_lost(self, error: Exception | None) -> None:
        """Count the connection if it failed, mostly by a reset."""
        if error is not None:
            self._counts.failed_connections += 1

    def pause_writing(self) -> None:
        """Read no more while replies wait for room."""
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Read again: the peer takes replies."""
        self._transport.resume_reading()


class _EncryptedConnection(_Connection):
    """A connection over TLS: each decrypted record counts as a read, and records are counted."""

    def __init__(
        self,
        order: ServerOrder,
        listener: Listener,
        content: CallContent,
        counts: _Counts,
        tls: Decrypting,
    ) -> None:
        super().__init__(order, listener, content, counts)
        self._tls = tls

    def data_received(self, data: bytes) -> None:
        """Decrypt, and answer each record's requests."""
        is_counted = self._counts.requests >= self._order.uncounted_requests
        try:
            found = self._tls.push(data)
        except OSError:
            # The client reports why; the alert that answers it tells the reason, too.
            self._counts.failed_connections += 1
            self._transport.write(self._tls.answer())
            self._transport.abort()
            return
        for record in found.records:
            super().data_received(record)
            if self._transport.is_closing():
                return  # The connection brought wrong bytes, and was ended.
        if is_counted:
            self._counts.tls_records += found.record_count
            self._counts.wire_bytes += found.wire_bytes
        if found.is_closed:
            self.eof_received()
            self._tls.say_farewell()
        self._transport.write(self._tls.answer())
        if found.is_closed:
            self._transport.close()

    def eof_received(self) -> None:
        """The peer ended its side, with or without a farewell (close_notify)."""
        if self._tls.is_within_record:
            self._counts.short_requests += 1
        else:
            super().eof_received()

    def _reply(self, replies: bytes) -> None:
        self._tls.write(replies)
