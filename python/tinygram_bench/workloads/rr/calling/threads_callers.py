"""Callers that block, a thread each: as most programs that call over TCP are written."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from tinygram_bench._native import CallBook, CallContent, CallLog, set_exact_timers
from tinygram_bench.host.network.connections import introduce
from tinygram_bench.tls.certificates import SERVER_NAME
from tinygram_bench.tls.contexts import check_agreed
from tinygram_bench.workloads.rr.calling import (
    LOOK_EVERY,
    CallError,
    Parts,
    Tally,
    check_reply,
    check_silent,
    context_for,
    note_all,
    parts_of,
    short_reply,
    unconnected,
)
from tinygram_bench.workloads.rr.calling.threads_shared import SharedLine
from tinygram_bench.workloads.rr.order import CallOrder, CallTimes, Span, Start

_STACK_BYTES = 512 << 10
"""The stack of a caller's thread: a hundred with the usual 8 MiB exceed a small host's limit."""


class Callers:
    """All threads of a process: they get ready, and start together."""

    def __init__(self, order: CallOrder, content: CallContent) -> None:
        """Connect and warm up. Raises CallError or OSError, the first of several."""
        threading.stack_size(_STACK_BYTES)
        self._order = order
        self._parts = parts_of(content, order.sends_per_request)
        self._tallies: list[Tally] = []
        self._failures: list[Exception] = []
        self._start: Start | None = None
        self._has_started = threading.Event()
        self._line = self._shared_line(order, content)
        ready = threading.Semaphore(0)
        # All callers warm up at the same time, as they will call.
        self._all_connected = threading.Barrier(order.callers)
        self._callers = [
            Caller(order, content, self._parts, self._line) for _ in range(order.callers)
        ]
        self._threads = [
            threading.Thread(target=self._run, args=(caller, ready.release), daemon=True)
            for caller in self._callers
        ]
        for thread in self._threads:
            thread.start()
        for _ in self._threads:
            if not ready.acquire(timeout=max(0.0, (order.give_up_ns - time.monotonic_ns()) / 1e9)):
                raise CallError("the callers were not ready in time")
        if self._failures:
            self._has_started.set()
            raise self._failures[0]

    @property
    def warm_up_call_ns(self) -> int:
        calls = len(self._callers) * self._order.warm_up_calls
        return sum(caller.warm_up_ns for caller in self._callers) // calls if calls else 0

    def keep_to(self, book: CallBook) -> None:
        """From the start on, make calls when they are due."""
        for number, caller in enumerate(self._callers):
            caller.due_ns = book.of(number)
            caller.log = CallLog(is_at_a_rate=True)

    def run(self, start: Start) -> Tally:
        """Let the callers call; return their results. Raises CallError or OSError."""
        self._start = start
        self._has_started.set()
        for thread in self._threads:
            thread.join()
        if self._failures:
            raise self._failures[0]
        noted = Tally.of_logs([each.log for each in self._callers], start)
        tally = Tally.of([*self._tallies, noted])
        if self._line is not None:
            tally.connect.record(self._line.connect_ns)
        return tally

    def _shared_line(self, order: CallOrder, content: CallContent) -> SharedLine | None:
        if order.connections != "shared":
            return None
        sock, connect_ns = connected(order)
        return SharedLine(sock, connect_ns, order, content, self._parts)

    def _run(self, caller: Caller, on_ready: Callable[[], None]) -> None:
        try:
            caller.connect()
            self._all_connected.wait()
            caller.warm_up()
        except threading.BrokenBarrierError:
            return  # The failure of another caller is noted already.
        except Exception as failure:  # noqa: BLE001 - `__init__` raises it again
            self._failures.append(failure)
            self._all_connected.abort()
            return
        finally:
            # After the failure is noted, because the thread that waits for all looks for it then.
            on_ready()
        self._has_started.wait()
        if self._start is None:
            return
        act = caller.run if caller.due_ns is None else caller.run_at_a_rate
        try:
            self._tallies.append(act(self._start, lambda: bool(self._failures)))
        except Exception as failure:  # noqa: BLE001 - raised again by `run`
            self._failures.append(failure)


class Caller:
    """One caller: on a connection of its own, on one for each request, or on a shared one."""

    def __init__(
        self, order: CallOrder, content: CallContent, parts: Parts, line: SharedLine | None
    ) -> None:
        self._order = order
        self._content = content
        self._parts = parts
        self._line = line
        self._sock: socket.socket | None = None
        self._index = 0
        self._calls = 0
        self.warm_up_ns = 0
        self.due_ns: Sequence[int] | None = None
        """At a rate: when its calls are due, in ns of the case's own time."""
        self.log = CallLog()
        self._is_per_request = order.connections == "per-request"
        self._tally = Tally()

    def connect(self) -> None:
        """Make the connection, if it is to stay."""
        if self._line is None and not self._is_per_request:
            self._connect()

    def warm_up(self) -> None:
        """Make the calls of the warm-up."""
        begun_ns = time.monotonic_ns()
        for _ in range(self._order.warm_up_calls):
            self._call()
        self.warm_up_ns = time.monotonic_ns() - begun_ns
        self._calls = 0
        self._tally = self._tally.after_warm_up(keeps_connects=not self._is_per_request)

    def run(self, start: Start, is_stopped: Callable[[], bool]) -> Tally:
        """Call again and again in each span or until told to stop.

        Returns the results without those that are in the log.
        """
        in_slices: list[list[CallTimes]] = []
        now_ns = 0
        for span in start.spans:
            time.sleep(max(0.0, (span.start_ns - time.monotonic_ns()) / 1e9))
            calls: list[CallTimes] = []
            # Later than its start where a call of the previous span has lasted until now.
            arrived_ns = now_ns = max(span.start_ns, now_ns)
            # The caller may have slept through its slice, so that another case has its turn.
            awake_ns = time.monotonic_ns()
            calls_left = -1 if span.calls is None else span.calls
            while max(now_ns, awake_ns) < span.end_ns and calls_left and not is_stopped():
                call = self._call()
                now_ns = call.ended_ns
                if span.settled_ns is None:
                    self._tally.record_call(call.begun_ns, now_ns)
                else:
                    calls.append(call)
                calls_left -= 1
            if span.settled_ns is None:
                self._tally.callers_time_ns += now_ns - arrived_ns
            in_slices.append(calls)
        note_all(self.log, in_slices)
        return self._tally

    def run_at_a_rate(self, start: Start, is_stopped: Callable[[], bool]) -> Tally:
        """Make each call when it is due, or when the one before has its reply.

        Returns the results without those that are in the log.
        """
        assert self.due_ns is not None, "it is told when its calls are due"
        set_exact_timers(True)
        due_ns = deque(self.due_ns)
        for number, span in enumerate(start.spans):
            while due_ns and not is_stopped() and _begins(span, due_ns[0]):
                due_at_ns = due_ns.popleft()
                self.log.note(number, self._call(), due_at_ns)
        time.sleep(max(0.0, (start.spans[-1].start_ns - time.monotonic_ns()) / 1e9))
        self.log.end(list(due_ns))
        return self._tally

    def _connect(self) -> socket.socket:
        sock, took_ns = connected(self._order)
        self._tally.record_connect(took_ns)
        self._sock, self._index = sock, 0
        return sock

    def _call(self) -> CallTimes:
        """One call. Raises CallError or OSError."""
        if self._line is None:
            return self._call_alone()
        begun_ns = time.monotonic_ns()
        self._line.call()
        return CallTimes(begun_ns, begun_ns, time.monotonic_ns())

    def _call_alone(self) -> CallTimes:
        called_ns = time.monotonic_ns()
        sock = self._connect() if self._is_per_request or self._sock is None else self._sock
        index, expected = self._index, self._order.reply_bytes
        if self._calls % LOOK_EVERY == 0:
            check_silent(sock, index)
        self._calls += 1
        begun_ns = time.monotonic_ns()
        for part in self._parts[index % len(self._parts)]:
            sock.sendall(part)
        reply = received(sock, expected)
        ended_ns = time.monotonic_ns()
        if len(reply) < expected:
            raise short_reply(index, len(reply), expected)
        check_reply(self._content, index, reply)
        self._index += 1
        if self._is_per_request:
            sock.close()
        return CallTimes(called_ns, begun_ns, ended_ns)


def _begins(span: Span, due_ns: int) -> bool:
    """Wait until a call is due in the span, or until the span begins where it was due before.

    Returns whether its caller may begin it then.
    """
    due_at_ns = max(span.start_ns, span.at_ns(due_ns))
    if due_at_ns > span.end_ns:
        return False
    left_ns = due_at_ns - time.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)
    return span.is_open_at(time.monotonic_ns())


def connected(order: CallOrder) -> tuple[socket.socket, int]:
    """A new connection, and how long connecting and shaking hands took, in ns. Raises CallError."""
    sock = unconnected(order)
    context = context_for(order.certificate)
    begun_ns = time.monotonic_ns()
    try:
        sock.connect((order.host, order.port))
        took_ns = time.monotonic_ns() - begun_ns
        introduce(sock, order.client.token)
        if context is not None:
            # The handshake is a part of connecting, and the token before it is not.
            shaking_ns = time.monotonic_ns()
            sock = encrypted = context.wrap_socket(sock, server_hostname=SERVER_NAME)
            check_agreed(encrypted)
            took_ns += time.monotonic_ns() - shaking_ns
    except OSError as error:
        sock.close()
        raise CallError(f"connecting to {order.host}:{order.port} failed: {error}") from error
    return sock, took_ns


def received(sock: socket.socket, length: int) -> bytes:
    """The next `length` bytes; fewer where the peer ends its side before that."""
    data = sock.recv(length)
    if len(data) in (0, length):
        return data
    parts = [data]
    missing = length - len(data)
    while missing and (data := sock.recv(missing)):
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)
