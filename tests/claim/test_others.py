"""What others had of the cores' time: all that was used, but for what was ours."""

from __future__ import annotations

from dataclasses import replace

import pytest
from claim.others import CoresTime, Others

BEGUN = CoresTime(wall=100.0, busy=40.0, stolen=5.0, own=10.0)


def test_others_had_what_was_used_and_not_by_us() -> None:
    ended = CoresTime(wall=120.0, busy=56.0, stolen=6.0, own=20.0)
    assert ended.others_since(BEGUN) == Others(programs=0.3, machines=0.05)


def test_a_clock_that_counts_in_ticks_gives_no_negative_share() -> None:
    ended = replace(BEGUN, wall=120.0, own=10.02)
    assert ended.others_since(BEGUN) == Others(0.0, 0.0)


def test_without_time_there_is_no_share() -> None:
    assert BEGUN.others_since(BEGUN) is None


def test_the_kernel_tells_what_was_used_since_it_began() -> None:
    now = CoresTime.now()
    assert now.own > 0
    assert now.busy > 0
    assert now.stolen >= 0
    later = CoresTime.now()
    assert later.wall > now.wall
    assert later.busy >= now.busy
    assert later.own == pytest.approx(now.own, abs=5.0)
