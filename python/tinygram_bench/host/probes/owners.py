"""Finds which process has a socket, by the links in /proc/PID/fd (proc_pid_fd(5))."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from tinygram_bench.host.probes.sockets import Owner

MAX_DESCRIPTORS = 200_000
"""The most descriptors in a search through all processes: that takes some tenths of a second."""

_SOCKET = re.compile(r"socket:\[([0-9]{1,20})\]")
_GONE = (FileNotFoundError, ProcessLookupError)


def sockets_of(pid: int) -> dict[int, int]:
    """The sockets that a process has open: inode → descriptor.

    Raises ProcessLookupError when there is no such process, PermissionError when it is another
    user's.
    """
    try:
        return {inode: fd for fd, inode in _descriptors_of(pid) if inode is not None}
    except FileNotFoundError as error:
        raise ProcessLookupError(error.errno, f"there is no process {pid}") from error


def owners_of(inodes: Collection[int]) -> dict[int, Owner]:
    """The first process found for each socket; other users' processes may not be visible."""
    wanted = set(inodes) - {0}
    found: dict[int, Owner] = {}
    looked_at = 0
    for pid in _processes():
        if not wanted or looked_at > MAX_DESCRIPTORS:
            break
        try:
            for fd, inode in _descriptors_of(pid):
                looked_at += 1
                if inode is not None and inode in wanted:
                    wanted.remove(inode)
                    found[inode] = Owner(pid, name_of(pid), fd)
        except (*_GONE, PermissionError):
            continue  # The process has ended, or is another user's.
    return found


def name_of(pid: int) -> str:
    """The name of the process; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").rstrip("\n")
    except _GONE:
        return ""


def _processes() -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdecimal():
            yield int(name)


def _descriptors_of(pid: int) -> Iterator[tuple[int, int | None]]:
    """Each descriptor of a process, and the socket's inode if it is a socket."""
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        try:
            socket = _SOCKET.fullmatch(os.readlink(f"{folder}/{name}"))
        except _GONE:
            continue  # Closed since it was listed; or the process ended, which the next call shows.
        yield int(name), None if socket is None else int(socket[1])
