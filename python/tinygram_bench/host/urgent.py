"""A thread that runs when it wants to, whoever else computes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_PRIORITY = 2


@contextmanager
def urgent() -> Iterator[None]:
    """Give this thread real-time priority (sched(7)) until the block ends, where that is permitted.

    It must sleep nearly all the time: nobody else has its core while it runs. Threads and processes
    that it starts do not have the priority.
    """
    before, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(_PRIORITY))
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, before, parameters)
