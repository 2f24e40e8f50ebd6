"""The numbers of buffered bytes at which a protocol is paused and resumed."""

from __future__ import annotations

from typing import NamedTuple

_HIGH_BYTES = 64 << 10


class WaterMarks(NamedTuple):
    """A protocol pauses above `high_bytes`, resumes at `low_bytes`; a batch has `batch_bytes`."""

    low_bytes: int
    high_bytes: int
    batch_bytes: int


def water_marks(
    high: int | None, low: int | None, max_bytes: int, max_buffered_bytes: int | None
) -> WaterMarks:
    """The marks that `set_write_buffer_limits(high, low)` sets. Raises ValueError for wrong ones.

    `high` is half of `max_buffered_bytes` at most, so that a protocol which waits when paused never
    has a message refused. No protocol is paused only because of what could have been written.
    """
    if high is None:
        high = _HIGH_BYTES if low is None else 4 * low
    if low is None:
        low = high // 4
    if not high >= low >= 0:
        raise ValueError(f"high ({high!r}) must be >= low ({low!r}) must be >= 0")
    if max_buffered_bytes is not None:
        high = min(high, max_buffered_bytes // 2)
        low = min(low, high)
    return WaterMarks(low, high, max(1, min(max_bytes, high)))
