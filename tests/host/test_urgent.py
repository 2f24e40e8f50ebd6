"""A thread with real-time priority, and without it again."""

from __future__ import annotations

import os

import pytest

from tinygram_bench.host.urgent import urgent


def test_a_thread_is_urgent_until_the_block_ends() -> None:
    before = os.sched_getscheduler(0)
    within: list[int] = []

    def fail_within() -> None:
        with urgent():
            within.append(os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK)
            raise KeyError

    with pytest.raises(KeyError):
        fail_within()
    assert within == [os.SCHED_FIFO if os.geteuid() == 0 else before]
    assert os.sched_getscheduler(0) == before


def test_without_permission_it_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    before = os.sched_getscheduler(0)
    with urgent():
        assert os.sched_getscheduler(0) == before
