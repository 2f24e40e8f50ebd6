"""Records are counted exactly, however the stream is cut."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.experiments import deterministic

from tinygram_bench.tls.records import Records


def record(length: int) -> bytes:
    return b"\x17\x03\x03" + length.to_bytes(2, "big") + b"\xff" * length


def counted(chunks: Sequence[bytes]) -> tuple[int, int, int]:
    records = Records()
    for chunk in chunks:
        records.push(chunk)
    return records.count, records.wire_bytes, records.last_bytes


LENGTHS = [17, 1, 16_401, 0, 255, 256]
STREAM = b"".join(map(record, LENGTHS))
EXPECTED = (6, len(STREAM), 261)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 1_000, 16_406, len(STREAM)])
def test_every_record_is_counted_once_whatever_a_read_brings(size: int) -> None:
    chunks = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    assert counted(chunks) == EXPECTED


@deterministic
@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_cuts_anywhere_change_nothing(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(STREAM)]
    assert counted([STREAM[begin:end] for begin, end in pairwise(ends)]) == EXPECTED


def test_a_view_of_a_buffer_that_is_used_again_is_read_at_once() -> None:
    buffer = bytearray(STREAM)
    records = Records()
    records.push(memoryview(buffer)[:23])
    buffer[:] = bytes(len(buffer))
    records.push(STREAM[23:])
    assert (records.count, records.wire_bytes, records.last_bytes) == EXPECTED
