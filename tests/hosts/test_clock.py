"""The line through the looks at a far clock, and its bound."""

from __future__ import annotations

import struct

import pytest

from tinygram_bench.hosts.clock import Look, difference, notes_here
from tinygram_bench.processes.workers import RunError

NOW_NS = 1_000_000_000_000
SECOND_NS = 1_000_000_000
TRIP_NS = 40_000


def looks(offset_ns: int, drift: float, strays_ns: list[int]) -> list[Look]:
    return [
        Look(NOW_NS + i * SECOND_NS, offset_ns + round(drift * i * SECOND_NS) + stray, TRIP_NS)
        for i, stray in enumerate(strays_ns)
    ]


@pytest.mark.parametrize("offset_ns", [0, -7 * SECOND_NS, 5_000 * SECOND_NS])
@pytest.mark.parametrize("drift", [0.0, 50e-6, -200e-6])
def test_an_offset_and_a_drift_are_taken_out(offset_ns: int, drift: float) -> None:
    found = difference(looks(offset_ns, drift, [0, 0, 0, 0]))
    near_ns = NOW_NS + SECOND_NS // 2
    far_ns = near_ns + offset_ns + round(drift * SECOND_NS / 2)
    assert abs(found.near_ns(far_ns) - near_ns) <= found.bound_ns
    assert abs(found.near_ns(far_ns) - near_ns) <= 2
    notes = struct.pack("<4Q", 10, far_ns, 20, far_ns + 1_000)
    bytes_so_far, _, more_bytes, _ = struct.unpack("<4Q", notes_here(notes, found))
    assert (bytes_so_far, more_bytes) == (10, 20)


def test_the_bound_is_half_a_round_trip_and_what_looks_stray() -> None:
    assert difference(looks(0, 0.0, [0, 0])).bound_ns >= TRIP_NS // 2
    assert difference(looks(0, 0.0, [0, 9_000, 0])).bound_ns >= TRIP_NS // 2 + 4_500


def test_a_way_that_is_slower_there_is_within_the_bound_and_not_seen() -> None:
    there_ns, back_ns = 35_000, 5_000
    # The far clock is the near one: it is read `there_ns` after the question.
    asymmetric = (there_ns - back_ns) // 2
    found = difference(looks(asymmetric, 0.0, [0, 0, 0]))
    assert NOW_NS - found.near_ns(NOW_NS) == asymmetric <= found.bound_ns


def test_a_clock_that_jumps_is_told() -> None:
    with pytest.raises(RunError, match="has jumped by about"):
        difference(looks(0, 0.0, [0, 0, 0, 50_000_000]))
