"""A connection that many threads share: they send in turn, and one thread reads for all."""

from __future__ import annotations

import socket
import threading
from collections import deque
from contextlib import suppress
from queue import SimpleQueue

from tinygram_bench._native import CallContent
from tinygram_bench.workloads.rr.calling import (
    Parts,
    check_reply,
    early_reply,
    short_reply,
)
from tinygram_bench.workloads.rr.order import CallOrder

_Waiter = SimpleQueue[Exception | None]


class SharedLine:
    """At most `depth` requests of the callers are in flight; replies come in the same order."""

    def __init__(
        self,
        sock: socket.socket,
        connect_ns: int,
        order: CallOrder,
        content: CallContent,
        parts: Parts,
    ) -> None:
        self.connect_ns = connect_ns
        self._sock = sock
        self._content = content
        self._parts = parts
        self._reply_bytes = order.reply_bytes
        self._room = threading.Semaphore(order.depth)
        self._sending = threading.Lock()
        self._sent = 0
        self._waiting: deque[_Waiter] = deque()
        self._failure: Exception | None = None
        threading.Thread(target=self._read, daemon=True).start()

    def call(self) -> None:
        """Send the connection's next request, and wait for its reply.

        Raises CallError or OSError.
        """
        waiter: _Waiter = SimpleQueue()
        with self._room:
            with self._sending:
                if self._failure is not None:
                    raise self._failure
                # Added before the request is sent: the reply may come before the last send returns.
                self._waiting.append(waiter)
                index = self._sent
                self._sent += 1
                try:
                    for part in self._parts[index % len(self._parts)]:
                        self._sock.sendall(part)
                except OSError as error:
                    # The reading thread has ended the connection, and knows why.
                    raise self._failure or error from error
            failure = waiter.get()
        if failure is not None:
            raise failure

    def _read(self) -> None:
        index = 0
        try:
            with self._sock.makefile("rb") as replies:
                while reply := replies.read(self._reply_bytes):
                    if len(reply) < self._reply_bytes:
                        raise short_reply(index, len(reply), self._reply_bytes)
                    check_reply(self._content, index, reply)
                    if not self._waiting:
                        raise early_reply(index)
                    self._waiting.popleft().put(None)
                    index += 1
            raise short_reply(index, 0, self._reply_bytes)
        except Exception as failure:  # noqa: BLE001 - raised again by whoever waits for a reply
            self._fail(failure)

    def _fail(self, failure: Exception) -> None:
        self._failure = failure
        # The connection is over: a thread that sends now fails, and no caller is added any more.
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        with self._sending:
            for waiter in self._waiting:
                waiter.put(failure)
