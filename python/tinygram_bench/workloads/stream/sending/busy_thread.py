"""A neighbour: one Python thread that computes without end, as programs have them."""

from __future__ import annotations

import threading
import time


class BusyThread:
    """A thread that computes from `start` to `stop`; it gives up the GIL only on request."""

    def __init__(self) -> None:
        self._is_stopped = False
        self._cpu_ns = 0
        self._thread = threading.Thread(target=self._run, name="busy", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> int:
        """End the thread; return the CPU time that it used, in nanoseconds."""
        self._is_stopped = True
        self._thread.join()
        return self._cpu_ns

    def _run(self) -> None:
        number = 0
        while not self._is_stopped:
            number = (number * 1_103_515_245 + 12_345) % (1 << 31)
        self._cpu_ns = time.thread_time_ns()
