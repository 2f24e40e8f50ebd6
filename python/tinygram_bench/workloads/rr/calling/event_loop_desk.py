"""Tells the callers of an event loop when their calls are due: one timer rings for all of them."""

from __future__ import annotations

import asyncio
import time

from tinygram_bench._native import CallBook, Timer
from tinygram_bench.workloads.rr.order import Span, Start


async def until(at_ns: int) -> None:
    """Sleep until `at_ns`: uvloop's timers count ms, and may ring up to one too early."""
    while (left_ns := at_ns - time.monotonic_ns()) > 0:
        await asyncio.sleep(left_ns / 1e9)
    await asyncio.sleep(0)


class Desk:
    """The calls of all callers of a loop, in the spans of `start`.

    Law: a caller asks for its next call when it has the reply to the one before.
    """

    def __init__(self, start: Start, callers: int) -> None:
        """Raises ValueError where the start has no pace."""
        if start.pace is None:
            raise ValueError("callers without a pace need no desk")
        self.book: CallBook = start.pace.book(callers)
        self.span = 0
        """The number of the present span."""
        self._start = start
        self._loop = asyncio.get_running_loop()
        self._waiting: list[asyncio.Future[int | None] | None] = [None] * callers
        self._is_over = False
        self._timer = Timer()
        self._nothing_left = asyncio.Event()

    async def next_call(self, caller: int) -> int | None:
        """Wait for the caller's next call: when it was due, in ns of the case's own time.

        None where no other can be begun.
        """
        due_ns = self.book.take(caller)
        if due_ns is not None or self._is_over:
            return due_ns
        waiting: asyncio.Future[int | None] = self._loop.create_future()
        self._waiting[caller] = waiting
        return await waiting

    async def run(self) -> None:
        """Let callers begin their calls, span by span; end when the last span has begun."""
        self._loop.add_reader(self._timer, self._on_timer)
        try:
            for number, span in enumerate(self._start.spans):
                await until(span.start_ns)
                self._begin(number, span)
                await self._nothing_left.wait()
        finally:
            self._loop.remove_reader(self._timer)
        self._is_over = True
        for waiting in self._waiting:
            if waiting is not None and not waiting.done():
                waiting.set_result(None)

    def _begin(self, number: int, span: Span) -> None:
        self.span = number
        self.book.begin_span(span.native)
        self._nothing_left.clear()
        # Calls that came due and could not be begun in an earlier span.
        for caller in range(len(self._waiting)):
            self._wake(caller)
        self._release()

    def _on_timer(self) -> None:
        self._timer.take()
        self._release()

    def _release(self) -> None:
        while (caller := self.book.release()) is not None:
            self._wake(caller)
        next_ns = self.book.next_due_at_ns()
        if next_ns is None:
            self._nothing_left.set()
        else:
            self._timer.set(next_ns)

    def _wake(self, caller: int) -> None:
        waiting = self._waiting[caller]
        if waiting is None or waiting.done():
            return
        due_ns = self.book.take(caller)
        if due_ns is not None:
            self._waiting[caller] = None
            waiting.set_result(due_ns)
