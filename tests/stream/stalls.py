"""How long the host stops, or one of its cores: seen by threads that only wake, again and again."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_STEP_S = 0.02


@dataclass
class Stalls:
    """The longest stop so far, on any of the cores that this process may use."""

    longest_s: float = 0.0


@contextmanager
def watched_stalls() -> Iterator[Stalls]:
    """Watch for stops in the block."""
    found, is_over = Stalls(), threading.Event()

    def watch(core: int) -> None:
        os.sched_setaffinity(0, {core})  # This thread alone.
        before_s = time.monotonic()
        while not is_over.wait(_STEP_S):
            now_s = time.monotonic()
            found.longest_s = max(found.longest_s, now_s - before_s - _STEP_S)
            before_s = now_s

    threads = [
        threading.Thread(target=watch, args=(core,), name=f"watches core {core}")
        for core in os.sched_getaffinity(0)
    ]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
