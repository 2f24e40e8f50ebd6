"""How a server that runs alone is told to stop."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stopped_by_signal() -> Iterator[int]:
    """A descriptor that is readable once Ctrl-C or SIGTERM has come, which do nothing else."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        woken = signal.set_wakeup_fd(theirs.fileno())
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, lambda *_: None) for number in numbers]
        try:
            yield ours.fileno()
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)
            signal.set_wakeup_fd(woken)
