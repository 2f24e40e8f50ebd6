"""The offline optimum is asked for by the schedule that a pacer keeps."""

from __future__ import annotations

import pytest

from tinygram_bench import _native

MILLISECOND_NS = 1_000_000


def test_far_messages_get_a_write_each_and_near_ones_share_one() -> None:
    every_ms = (1_000.0, "constant", 1, 10 * MILLISECOND_NS, 0)
    assert _native.offline_optimum(*every_ms, 4_000) == (0, 10)
    delay_ns, writes = _native.offline_optimum(*every_ms, 1_000 * MILLISECOND_NS)
    assert (delay_ns, writes) == (45 * MILLISECOND_NS, 1)


def test_a_burst_costs_one_write() -> None:
    assert _native.offline_optimum(1_000.0, "poisson", 16, 64 * MILLISECOND_NS, 3, 0)[1] == 4


def test_a_schedule_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(ValueError, match="constant, poisson or onoff"):
        _native.offline_optimum(1_000.0, "uniform", 1, MILLISECOND_NS, 0, 0)
