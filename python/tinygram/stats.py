"""Statistics of a coalescing connection."""

from __future__ import annotations

from typing import NamedTuple

from tinygram import _native
from tinygram._native import Histogram


class Stats(NamedTuple):
    """Counts since the connection was wrapped, as a named tuple.

    - `messages`: messages handed over.
    - `writes`: system calls that took bytes, and batches that the transport below took.
    - `bytes`: bytes written.
    - `overruns`: batches that left after their deadline.
    - `flushes`: writes by reason: each_message, idle, full, tick, deadline, asked or writable.
    - `holds`: how long each held batch's first message was held, in ns to one significant digit.
    """

    messages: int
    writes: int
    bytes: int
    overruns: int
    flushes: dict[str, int]
    holds: Histogram

    @property
    def messages_per_write(self) -> float | None:
        """The mean number of messages in a write; None before the first write."""
        return self.messages / self.writes if self.writes else None


def stats_of(native: _native.Batch | _native.CoalescingSocket | _native.Outbox) -> Stats:
    messages, writes, byte_count, overruns, flushes, holds = native._stats_parts()
    return Stats(messages, writes, byte_count, overruns, dict(flushes), holds)
