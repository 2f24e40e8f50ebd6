"""Tells the callers of an event loop when their calls are due: one timer rings for all of them."""

from __future__ import annotations

import asyncio

from tinygram_bench._native import CallBook, Timer
from tinygram_bench.workloads.rr.order import Span, Start


class Pacer:
    """The calls of all callers of a loop, in the spans of `start`, by `book`.

    Law: a caller asks for its next call when it has the reply to the one before.
    """

    def __init__(self, start: Start, book: CallBook, callers: int) -> None:
        self.span = 0
        """The number of the present span."""
        self._book = book
        self._start = start
        self._loop = asyncio.get_running_loop()
        self._waiting: list[asyncio.Future[None] | None] = [None] * callers
        self._is_over = False
        self._timer = Timer()
        self._has_begun = asyncio.Event()
        """Set when it is time for the next span to begin."""
        self._nothing_left = asyncio.Event()
        """Set when no other call comes due in the present span."""

    async def next_call(self, caller: int) -> int | None:
        """Wait for the caller's next call: when it was due, in ns of the case's own time.

        None where no other can be begun.
        """
        # It looks again when it runs: woken up in time, it may come to its turn too late.
        while (due_ns := self._book.take(caller)) is None and not self._is_over:
            waiting: asyncio.Future[None] = self._loop.create_future()
            self._waiting[caller] = waiting
            await waiting
        return due_ns

    async def run(self) -> None:
        """Let callers begin their calls, span by span; end when the last span has begun."""
        self._loop.add_reader(self._timer, self._on_timer)
        try:
            for number, span in enumerate(self._start.spans):
                self._has_begun.clear()
                self._timer.set(span.start_ns)
                await self._has_begun.wait()
                self._begin(number, span)
                await self._nothing_left.wait()
        finally:
            self._loop.remove_reader(self._timer)
        self._is_over = True
        for caller in range(len(self._waiting)):
            self._wake(caller)

    def _begin(self, number: int, span: Span) -> None:
        self.span = number
        self._book.begin_span(span.native)
        self._nothing_left.clear()
        # Calls that came due and could not be begun in an earlier span.
        for caller in range(len(self._waiting)):
            if self._book.has_due(caller):
                self._wake(caller)
        self._release()

    def _on_timer(self) -> None:
        self._timer.take()
        if self._has_begun.is_set():
            self._release()
        else:
            self._has_begun.set()

    def _release(self) -> None:
        while (caller := self._book.release()) is not None:
            self._wake(caller)
        next_ns = self._book.next_due_at_ns()
        if next_ns is None:
            self._nothing_left.set()
        else:
            self._timer.set(next_ns)

    def _wake(self, caller: int) -> None:
        waiting = self._waiting[caller]
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
