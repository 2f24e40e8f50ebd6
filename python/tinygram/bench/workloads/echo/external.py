"""A server that is not ours: any program that echoes, started for each run and ended after it."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path

from tinygram.bench.workers import RunError, Worker

_LISTEN = "0A"
"""TCP_LISTEN, as /proc/net/tcp has it (proc_pid_net(5))."""
_STEP_S = 0.005


def external_command(command: str) -> list[str]:
    """The command line that starts it; it does not know that it is to die with us."""
    attached = [sys.executable, "-m", "tinygram.bench.attached", str(os.getpid())]
    return attached + shlex.split(command)


def check_port_free(pid: int, port: int) -> None:
    """Raises RunError when somebody listens on the port already: it would not be our server."""
    if _is_listening(pid, port):
        raise RunError(
            f"port {port} has a listener already, which is not the server that was to be started: "
            "end it, or name another port"
        )


def wait_listening(server: Worker, port: int, seconds: float) -> None:
    """Sleep until something listens on the port, in the server's network; nothing connects to it.

    Raises RunError when the server ends before, or `seconds` have passed.
    """
    give_up_s = time.monotonic() + seconds
    while not _is_listening(server.pid, port):
        if server.has_ended:
            raise RunError(server.failure or "the server ended before it listened")
        if time.monotonic() > give_up_s:
            raise RunError(f"the server did not listen on port {port} within {seconds:g} s")
        time.sleep(_STEP_S)


def _is_listening(pid: int, port: int) -> bool:
    """Whether there is a listener on the port in the network of process `pid`, on any address."""
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        except OSError:  # It has ended, or there is no IPv6.
            continue
        for line in lines:
            _, local, _, state, *_ = line.split()
            if state == _LISTEN and int(local.rpartition(":")[2], 16) == port:
                return True
    return False
