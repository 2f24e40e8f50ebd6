"""Real-time priority: a thread that runs as soon as it wakes, whatever else computes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager

_PRIORITY = 2


@contextmanager
def urgent(cores: Collection[int] = ()) -> Iterator[bool]:
    """Give this thread real-time priority (sched(7)) until the block ends; False: not permitted.

    The thread must sleep nearly all the time: nothing else has its core while it runs. Where it may
    use cores other than `cores`, it stays away from `cores`. Threads and processes that it starts
    do not have the priority.
    """
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, allowed - set(cores) or allowed)
    is_urgent = _takes_priority()
    try:
        yield is_urgent
    finally:
        if is_urgent:
            os.sched_setscheduler(0, policy, parameters)
        os.sched_setaffinity(0, allowed)


def may_be_urgent() -> bool:
    """Whether real-time priority is permitted."""
    with urgent() as is_urgent:
        return is_urgent


def _takes_priority() -> bool:
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(_PRIORITY))
    except PermissionError:
        return False
    return True
