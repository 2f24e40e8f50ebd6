"""Whether a program listens that does not tell it; nothing connects to it."""

from __future__ import annotations

import time

from tinygram import _native
from tinygram.bench.probes.owners import sockets_of
from tinygram.bench.workers import RunError, Worker

_STEP_S = 0.005


def is_listening(pid: int, port: int, *, by_itself: bool = False) -> bool:
    """Whether there is a listener on the port in the network of a process, on any address.

    `by_itself`: one that the process itself has open, and none of its children.
    """
    try:
        own = list(sockets_of(pid)) if by_itself else None
        return bool(_native.proc_sockets(f"/proc/{pid}/net", port, own)[1])
    except OSError:  # It has just ended.
        return False


def wait_listening(server: Worker, port: int, seconds: float, *, by_itself: bool = False) -> None:
    """Sleep until there is such a listener.

    Raises RunError when the server ends before, or `seconds` have passed.
    """
    give_up_s = time.monotonic() + seconds
    while not is_listening(server.pid, port, by_itself=by_itself):
        if server.has_ended:
            raise RunError(server.failure or f"the {server.role} ended before it listened")
        if time.monotonic() > give_up_s:
            raise RunError(f"the {server.role} did not listen on port {port} within {seconds:g} s")
        time.sleep(_STEP_S)
