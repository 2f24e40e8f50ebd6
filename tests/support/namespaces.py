"""The network namespaces of processes, as inode numbers, and who is in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.waiting import GONE_S, wait_until

_OWN = "/proc/self/ns/net"


def namespaces_of(pids: Iterable[int]) -> set[int]:
    """Those of these processes, but for our own."""
    with kept_namespaces(pids) as found:
        return found


@contextmanager
def kept_namespaces(pids: Iterable[int]) -> Iterator[set[int]]:
    """The same, held open: meanwhile the kernel gives their numbers to no other."""
    found: set[int] = set()
    with ExitStack() as opened:
        for pid in pids:
            try:
                fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # It has ended, or is another user's.
            opened.callback(os.close, fd)
            found.add(os.fstat(fd).st_ino)
        yield found - {os.stat(_OWN).st_ino}


def wait_empty(namespaces: set[int]) -> None:
    """Wait until no process of this machine is in any of these, which are kept; none is mounted."""
    wait_until(
        lambda: not namespaces & namespaces_of(_every_process()), GONE_S, "no process is left there"
    )
    mounts = Path("/proc/mounts").read_text()
    assert not any(f"net:[{inode}]" in mounts for inode in namespaces)


def _every_process() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
