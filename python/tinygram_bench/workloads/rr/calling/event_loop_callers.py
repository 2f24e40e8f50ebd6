"""Callers that are tasks of an event loop, with a StreamReader and a StreamWriter each.

The loop is asyncio's own or uvloop's, or the library's above one of them.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from tinygram_bench._native import Admission, CallBook, CallContent, CallLog
from tinygram_bench.host.network.connections import INTRODUCTION_LIMIT_NS
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.tls.certificates import SERVER_NAME
from tinygram_bench.tls.contexts import check_agreed
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.workloads.rr.calling import (
    BY_HAND,
    LOOK_EVERY,
    CallError,
    Parts,
    Tally,
    check_reply,
    check_silent,
    context_for,
    early_reply,
    note_all,
    parts_of,
    short_reply,
    unconnected,
)
from tinygram_bench.workloads.rr.calling.event_loop_pacer import Pacer
from tinygram_bench.workloads.rr.order import CallOrder, CallTimes, Start

_Act = Coroutine[Any, Any, None]
_AT_A_TIME = 64
"""How many connections are made at a time: so few that no backlog overflows."""


class Callers:
    """All tasks of a process: they get ready, and start together."""

    def __init__(self, order: CallOrder, content: CallContent) -> None:
        """Connect and warm up. Raises CallError or OSError."""
        self._order = order
        self._content = content
        self._parts = parts_of(content, order.sends_per_request)
        strategy = None if order.strategy in BY_HAND else parse_strategy(order.strategy)
        self._runner = asyncio.Runner(loop_factory=loop_factory(order.runtime, strategy))
        self._callers: list[Caller] = []
        self._line: SharedLine | None = None
        self._book: CallBook | None = None
        self._tally = Tally()
        self._give_up_s = (order.give_up_ns - time.monotonic_ns()) / 1e9
        _run(self._runner, self._prepare())

    @property
    def warm_up_call_ns(self) -> int:
        return sum(caller.warm_up_call_ns for caller in self._callers) // len(self._callers)

    def keep_to(self, book: CallBook) -> None:
        """From the start on, make calls when they are due."""
        self._book = book
        for caller in self._callers:
            caller.log = CallLog(is_at_a_rate=True)

    def run(self, start: Start) -> Tally:
        """Let the callers call; return their results. Raises CallError or OSError."""
        if self._book is None:
            _run(self._runner, self._call(start))
        else:
            _run(self._runner, self._call_at_a_rate(start, self._book))
        noted = Tally.of_logs([caller.log for caller in self._callers], start)
        self._tally = Tally.of([self._tally, noted])
        if self._line is not None:
            self._tally.connect.record(self._line.connect_ns)
        return self._tally

    async def _prepare(self) -> None:
        async with asyncio.timeout(self._give_up_s):
            if self._order.connections == "shared":
                connection = await connected(self._order)
                self._line = SharedLine(connection, self._order, self._content, self._parts)
            self._callers = [
                Caller(self._order, self._content, self._parts, self._line, self._tally)
                for _ in range(self._order.callers)
            ]
            if self._line is not None:
                self._line.reading = asyncio.create_task(self._line.read())
            for first in range(0, len(self._callers), _AT_A_TIME):
                # After their first call, all of them have been accepted before the next ones
                # connect.
                some = self._callers[first : first + _AT_A_TIME]
                await _together(some, lambda caller: caller.connect())
            await _together(self._callers, lambda caller: caller.warm_up())
            keeps_connects = self._order.connections != "per-request"
            self._tally = self._tally.after_warm_up(keeps_connects=keeps_connects)
            for caller in self._callers:
                caller.tally = self._tally

    async def _call(self, start: Start) -> None:
        await _together(self._callers, lambda caller: caller.run(start))

    async def _call_at_a_rate(self, start: Start, book: CallBook) -> None:
        pacer = Pacer(start, book, len(self._callers))
        numbers = {caller: number for number, caller in enumerate(self._callers)}
        async with asyncio.TaskGroup() as group:
            for caller, number in numbers.items():
                group.create_task(caller.run_at_a_rate(pacer, number))
            group.create_task(pacer.run())
        for caller, number in numbers.items():
            caller.log.end(book.not_begun(number))


async def _together(callers: Iterable[Caller], act: Callable[[Caller], _Act]) -> None:
    async with asyncio.TaskGroup() as group:
        for caller in callers:
            group.create_task(act(caller))


class Connection:
    """A connection, how long connecting took, and how many requests were made on it."""

    def __init__(
        self,
        sock: socket.socket,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connect_ns: int,
    ) -> None:
        self.sock = sock
        self.reader = reader
        self.writer = writer
        self.connect_ns = connect_ns
        self.requests = 0

    def check_silent(self) -> None:
        """Raises CallError where there are bytes to read before the next request is sent."""
        if _has_buffered(self.reader):
            raise early_reply(self.requests)
        check_silent(self.sock, self.requests)


class Caller:
    """One caller: on a connection of its own, on one for each request, or on a shared one.

    `tally`: shared by all callers of the loop, without what is in their logs.
    """

    def __init__(
        self,
        order: CallOrder,
        content: CallContent,
        parts: Parts,
        line: SharedLine | None,
        tally: Tally,
    ) -> None:
        self.log = CallLog()
        self.tally = tally
        self._order = order
        self._content = content
        self._parts = parts
        self._line = line
        self._connection: Connection | None = None
        self._calls = 0
        self.warm_up_call_ns = 0
        self._is_per_request = order.connections == "per-request"

    async def connect(self) -> None:
        """If the connection is to stay, make it, and the first call of the warm-up."""
        if self._line is None and not self._is_per_request:
            self._connection = await self._connected()
            await self._warm_up(min(1, self._order.warm_up_calls))

    async def warm_up(self) -> None:
        """Make the remaining calls of the warm-up, in the same way as later."""
        await self._warm_up(self._order.warm_up_calls - self._calls)
        self._calls = 0

    async def _warm_up(self, calls: int) -> None:
        begun_ns = time.monotonic_ns()
        for _ in range(calls):
            await self._call()
        if calls:
            self.warm_up_call_ns = (time.monotonic_ns() - begun_ns) // calls

    async def run(self, start: Start) -> None:
        """Call again and again in each span, until its time or its number of calls is over."""
        in_slices: list[list[CallTimes]] = []
        now_ns = 0
        for span in start.spans:
            await _until(span.start_ns)
            calls: list[CallTimes] = []
            # Later than its start where a call of the previous span has lasted until now.
            arrived_ns = now_ns = max(span.start_ns, now_ns)
            # The caller may have slept through its slice, so that another case has its turn.
            awake_ns = time.monotonic_ns()
            calls_left = -1 if span.calls is None else span.calls
            while max(now_ns, awake_ns) < span.end_ns and calls_left:
                call = await self._call()
                now_ns = call.ended_ns
                if span.settled_ns is None:
                    self.tally.record_call(call.begun_ns, now_ns)
                else:
                    calls.append(call)
                calls_left -= 1
            if span.settled_ns is None:
                self.tally.callers_time_ns += now_ns - arrived_ns
            in_slices.append(calls)
        note_all(self.log, in_slices)

    async def run_at_a_rate(self, pacer: Pacer, number: int) -> None:
        """Make each call when it is due, or when the one before has its reply."""
        while (due_ns := await pacer.next_call(number)) is not None:
            span = pacer.span
            self.log.note(span, await self._call(), due_ns)

    async def _connected(self) -> Connection:
        connection = await connected(self._order)
        self.tally.record_connect(connection.connect_ns)
        return connection

    async def _call(self) -> CallTimes:
        """One call. Raises CallError or OSError."""
        if self._line is None:
            return await self._call_alone()
        begun_ns = time.monotonic_ns()
        await self._line.call()
        return CallTimes(begun_ns, begun_ns, time.monotonic_ns())

    async def _call_alone(self) -> CallTimes:
        called_ns = time.monotonic_ns()
        connection = self._connection or await self._connected()
        index = connection.requests
        if self._calls % LOOK_EVERY == 0:
            connection.check_silent()
        self._calls += 1
        begun_ns = time.monotonic_ns()
        for part in self._parts[index % len(self._parts)]:
            connection.writer.write(part)
        reply = await received(connection.reader, index, self._order.reply_bytes)
        ended_ns = time.monotonic_ns()
        check_reply(self._content, index, reply)
        connection.requests += 1
        if self._is_per_request:
            connection.writer.close()
            await connection.writer.wait_closed()
        return CallTimes(called_ns, begun_ns, ended_ns)


class SharedLine:
    """A connection that all tasks share: at most `depth` of their requests are in flight."""

    def __init__(
        self, connection: Connection, order: CallOrder, content: CallContent, parts: Parts
    ) -> None:
        self.connect_ns = connection.connect_ns
        self.reading: asyncio.Task[None] | None = None
        self._connection = connection
        self._reply_bytes = order.reply_bytes
        self._content = content
        self._parts = parts
        self._room = asyncio.Semaphore(order.depth)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._failure: Exception | None = None

    async def call(self) -> None:
        """Send the connection's next request, and wait for its reply. Raises CallError."""
        async with self._room:
            if self._failure is not None:
                raise self._failure
            replied: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(replied)
            connection = self._connection
            for part in self._parts[connection.requests % len(self._parts)]:
                connection.writer.write(part)
            connection.requests += 1
            await replied

    async def read(self) -> None:
        """Take replies and tell their callers, until one is wrong or the connection ends."""
        index = 0
        try:
            while True:
                reply = await received(self._connection.reader, index, self._reply_bytes)
                check_reply(self._content, index, reply)
                if not self._waiting:
                    raise early_reply(index)
                self._waiting.popleft().set_result(None)
                index += 1
        except (CallError, OSError) as failure:
            self._failure = failure
            for replied in self._waiting:
                if not replied.done():
                    replied.set_exception(failure)


async def _introduce(sock: socket.socket, token: bytes | None) -> None:
    """Send the token, as `introduce` does, on a socket that does not block. Raises OSError."""
    if token is None:
        return
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(INTRODUCTION_LIMIT_NS / 1e9):
        await loop.sock_sendall(sock, token)
        answer = await loop.sock_recv(sock, 1)
    if answer != Admission.ADMITTED:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "the far end does not know its token")


async def connected(order: CallOrder) -> Connection:
    """A new connection, encrypted where the order has a certificate. Raises CallError."""
    sock = unconnected(order)
    sock.setblocking(False)
    context = context_for(order.certificate)
    begun_ns = time.monotonic_ns()
    try:
        await asyncio.get_running_loop().sock_connect(sock, (order.host, order.port))
        connect_ns = time.monotonic_ns() - begun_ns
        await _introduce(sock, order.client.token)
        shaking_ns = time.monotonic_ns()
        reader, writer = await asyncio.open_connection(
            sock=sock, ssl=context, server_hostname=None if context is None else SERVER_NAME
        )
        if context is not None:
            # The handshake is a part of connecting, and the token before it is not.
            connect_ns += time.monotonic_ns() - shaking_ns
            check_agreed(writer.get_extra_info("ssl_object"))
    except OSError as error:
        sock.close()
        # asyncio has texts of its own for errors; the numbers of TLS errors are not the kernel's.
        reason = str(error)
        if error.errno and not isinstance(error, ssl.SSLError):
            reason = os.strerror(error.errno)
        raise CallError(f"connecting to {order.host}:{order.port} failed: {reason}") from error
    # Event loops have switched TCP_NODELAY on.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, order.is_nodelay)
    return Connection(sock, reader, writer, connect_ns)


async def _until(at_ns: int) -> None:
    """Sleep until `at_ns`: uvloop's timers count ms, and may ring up to one too early."""
    while (left_ns := at_ns - time.monotonic_ns()) > 0:
        await asyncio.sleep(left_ns / 1e9)
    await asyncio.sleep(0)


async def received(reader: asyncio.StreamReader, index: int, length: int) -> bytes:
    """The reply to request `index` of a connection. Raises CallError where it is short."""
    try:
        return await reader.readexactly(length)
    except asyncio.IncompleteReadError as error:
        raise short_reply(index, len(error.partial), length) from error


def _has_buffered(reader: asyncio.StreamReader) -> bool:
    """Whether a stream holds bytes; this may lose one of them."""
    reading = reader.read(1)
    try:
        # Step the coroutine as a task would: with bytes at hand it ends at once; otherwise it
        # waits, and is closed.
        reading.send(None)
    except StopIteration as ended:
        return bool(ended.value)
    reading.close()
    return False


def _run(runner: asyncio.Runner, act: _Act) -> None:
    """Run `act`; of a group of tasks that failed, the first failure is raised."""
    try:
        runner.run(act)
    except ExceptionGroup as group:
        failure: Exception = group
        while isinstance(failure, ExceptionGroup):
            failure = failure.exceptions[0]
        raise failure from group
    except TimeoutError as error:
        raise CallError("the callers were not ready in time") from error
