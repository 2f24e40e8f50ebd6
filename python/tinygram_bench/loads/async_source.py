"""A sender's messages for an event loop.

This is not in source.py, because other senders start without asyncio.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tinygram_bench._native import Pacer
from tinygram_bench.loads.source import SETTLE_STEP_S, Source


class AsyncSource:
    """A `Source` for an event loop: it waits for due times with a timerfd."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._due: asyncio.Future[tuple[int, int]] | None = None
        self._timer_fd: int | None = None

    async def next_burst(self) -> Sequence[bytes] | None:
        """The next messages to send; None at the end."""
        source = self._source
        while not source.start_when_settled():
            await asyncio.sleep(SETTLE_STEP_S)
        if source.start_ns is not None and source.openings is not None:
            while left_ns := source.openings.wait_ns():
                await asyncio.sleep(left_ns / 1e9)
            if left_ns is None:
                await self._rest()
                return None
        if source.pacer is None or source.start_ns is None:
            burst = source.next_flat_out()
            if burst is None:
                await self._rest()
            return burst
        first, last = source.pacer.take_due()
        while first == last:
            if source.pacer.is_finished:
                self.close()
                await self._rest()
                return None
            first, last = await self._wait_due(source.pacer)
        return source.due_messages(first, last)

    async def _rest(self) -> None:
        """Wait until the messages may end, after all were handed over."""
        while left_ns := self._source.rest_ns():
            await asyncio.sleep(left_ns / 1e9)

    def close(self) -> None:
        """Stop watching the timer."""
        if self._timer_fd is not None:
            self._loop.remove_reader(self._timer_fd)
            self._timer_fd = None

    def _wait_due(self, pacer: Pacer) -> asyncio.Future[tuple[int, int]]:
        if self._timer_fd is None:
            self._timer_fd = pacer.timer_fd()
            self._loop.add_reader(self._timer_fd, self._on_timer, pacer)
        pacer.arm(not self._source.holds_back)
        self._due = self._loop.create_future()
        return self._due

    def _on_timer(self, pacer: Pacer) -> None:
        first, last = pacer.on_timer()
        if first != last and self._due is not None and not self._due.done():
            self._due.set_result((first, last))
