"""Bursts from a bounded queue, as a sending thread or process takes them when it wakes."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from time import monotonic_ns
from typing import Protocol

from tinygram_bench.loads.source import BURST_MESSAGES

QUEUE_MESSAGES = 200
"""The queue's length in the published comparison."""

END = None


class MessageQueue(Protocol):
    """The methods that `queue.Queue` and `multiprocessing.Queue` have in common."""

    def get(self, block: bool = True, timeout: float | None = None) -> bytes | None:
        """Take one item, waiting at most `timeout` s for it. Raises queue.Empty."""

    def get_nowait(self) -> bytes | None:
        """Take one item without waiting. Raises queue.Empty."""

    def qsize(self) -> int: ...


class QueuedBursts:
    """Bursts of the messages in the queue when its sender wakes, at most 64."""

    def __init__(self, messages: MessageQueue) -> None:
        self._queue = messages
        self._has_ended = False

    def next_burst(self, until_ns: int | None = None) -> Sequence[bytes] | None:
        """Like `Bursts.next_burst`."""
        if self._has_ended:
            return None
        try:
            message = self._queue.get() if until_ns is None else self._get_until(until_ns)
        except queue.Empty:
            return ()
        if message is END:
            self._has_ended = True
            return None
        burst = [message]
        try:
            for _ in range(min(BURST_MESSAGES - 1, self._queue.qsize())):
                message = self._queue.get_nowait()
                if message is END:
                    self._has_ended = True
                    break
                burst.append(message)
        except queue.Empty:
            # A queue of another process may count messages that are still in its pipe.
            return burst
        return burst

    def _get_until(self, until_ns: int) -> bytes | None:
        left_ns = until_ns - monotonic_ns()
        return self._queue.get_nowait() if left_ns <= 0 else self._queue.get(timeout=left_ns / 1e9)
