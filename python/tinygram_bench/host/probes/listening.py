"""Finds out whether a program listens that does not report it, without connecting to it."""

from __future__ import annotations

import time

from tinygram_bench import _native
from tinygram_bench.host.probes.owners import sockets_of
from tinygram_bench.processes.workers import RunError, Worker

_STEP_S = 0.005
_ELSEWHERE_S = 2.0
"""How long a program may listen on another port before it must listen on the right one."""


def is_listening(pid: int, port: int, *, by_itself: bool = False) -> bool:
    """Whether there is a listener on the port, on any address, in the network of a process.

    `by_itself`: only listeners of the process itself count, not those of its children.
    """
    try:
        own = list(sockets_of(pid)) if by_itself else None
        return bool(_native.proc_sockets(f"/proc/{pid}/net", port, own)[1])
    except OSError:  # It has just ended.
        return False


def wait_listening(server: Worker, port: int, seconds: float, *, by_itself: bool = False) -> None:
    """Sleep until there is a listener as for `is_listening`.

    Raises RunError when the server ends before that, `seconds` have passed, or it has listened only
    on another port for 2 s.
    """
    give_up_s = time.monotonic() + seconds
    right_until_s = give_up_s
    while not is_listening(server.pid, port, by_itself=by_itself):
        if server.has_ended:
            raise RunError(server.end_before("listened"))
        now_s = time.monotonic()
        elsewhere = _addresses_of(server.pid)
        if not elsewhere:
            right_until_s = give_up_s
        elif right_until_s == give_up_s:
            right_until_s = min(give_up_s, now_s + _ELSEWHERE_S)
        if elsewhere and now_s > right_until_s:
            raise RunError(
                f"the {server.role} listens on {', '.join(elsewhere)}, and did not listen on port "
                f"{port}"
            )
        if now_s > give_up_s:
            raise RunError(f"the {server.role} did not listen on port {port} within {seconds:g} s")
        time.sleep(_STEP_S)


def _addresses_of(pid: int) -> list[str]:
    """The addresses that a process itself, not its children, listens on."""
    try:
        own = list(sockets_of(pid))
        return [found["local"] for found in _native.proc_sockets(f"/proc/{pid}/net", None, own)[1]]
    except OSError:  # It has just ended.
        return []
