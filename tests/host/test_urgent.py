"""A thread with real-time priority, away from the cores of a run, and as it was again."""

from __future__ import annotations

import os

import pytest

from tinygram_bench.host.urgent import may_be_urgent, urgent


def test_a_thread_is_urgent_until_the_block_ends() -> None:
    before = os.sched_getscheduler(0)
    within: list[int] = []

    def fail_within() -> None:
        with urgent() as is_urgent:
            assert is_urgent == (os.geteuid() == 0)
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
    with urgent() as is_urgent:
        assert os.sched_getscheduler(0) == before
    assert not is_urgent
    assert not may_be_urgent()


@pytest.mark.parametrize(
    ("allowed", "stays_on"), [({0, 1, 2, 3}, {2, 3}), ({0, 1}, {0, 1}), ({1, 5}, {5})]
)
def test_it_stays_away_from_the_cores_of_a_run_where_it_may_use_others(
    allowed: set[int], stays_on: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stayed: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(allowed))
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: stayed.append(set(cores)))
    with urgent((0, 1)):
        assert stayed == [stays_on]
    assert stayed == [stays_on, allowed]
