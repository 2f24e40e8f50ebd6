"""What the processes of a client use together, as the kernel tells it.

Law: it is asked for while a client is measured, so a look costs a few short reads for each process,
and none that walks through its memory, or on Linux 6.2 and newer its connections, or, where the
kernel tells children, the other processes of this host.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tinygram_bench.processes.workers import session_of

OTHER_FDS = 64
"""The number of descriptors of a process that are no connections of its client."""
_MEMORY = ("RssAnon", "RssShmem", "VmSwap")
"""What a process has in memory as its own (proc_pid_status(5)): not the libraries, which all share.
"""
_TELLS_CHILDREN = Path("/proc/thread-self/children").exists()
"""Whether the kernel was built to tell a process's children."""


class InUse(NamedTuple):
    """The memory that processes have, in bytes, and how many connections."""

    memory_bytes: int
    connections: int


def used_by(pids: Iterable[int]) -> InUse:
    """What these processes use, and those that they have started; nothing where they have ended."""
    memory_bytes = connections = 0
    for pid in pids:
        for member in _family(pid):
            used = _used(member)
            memory_bytes += used.memory_bytes
            connections += used.connections
    return InUse(memory_bytes, connections)


def _family(pid: int) -> Iterable[int]:
    """The process, and those that its main thread has started, or that these have."""
    if not _TELLS_CHILDREN:
        return session_of(pid)
    found = [pid]
    for member in found:  # More are added meanwhile.
        try:
            children = Path(f"/proc/{member}/task/{member}/children").read_text()
        except OSError:  # It has ended.
            continue
        found += map(int, children.split())
    return found


def _used(pid: int) -> InUse:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        # Before Linux 6.2 the folder does not tell how many there are.
        open_fds = os.stat(f"/proc/{pid}/fd").st_size or len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:  # It has ended.
        return InUse(0, 0)
    told = dict(line.split(":", 1) for line in lines)
    # One that has ended, and was not waited for, has no memory.
    kib = sum(int(told[name].split()[0]) for name in _MEMORY if name in told)
    return InUse(kib << 10, max(0, open_fds - OTHER_FDS))
