"""How many bytes have come to a process over TCP so far, asked from outside: tcp(7), TCP_INFO.

The process takes no part in this, and none of its code runs. Each time, its descriptors are
duplicated only for a moment (pidfd_getfd(2)): a duplicate that stayed would keep the connection
open after the process has ended, and the peer would never hear of that.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
from collections.abc import Sequence
from typing import Self

from tinygram_bench.host.probes.owners import sockets_of

_PIDFD_GETFD = 438
"""The number of the system call, which is the same on every architecture."""
_ESTABLISHED = 1
_RECEIVED_AT = 128
"""Where `tcpi_bytes_received` is in `struct tcp_info` (linux/tcp.h), since Linux 4.1."""
_MOST_CONNECTIONS = 8
"""With more connections their bytes are not known: asking for each takes some microseconds."""


class Arrived:
    """A context manager for these processes and the connections that they have when it begins."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._sockets: list[tuple[int, int]] = []
        self._pidfds: list[int] = []

    def __enter__(self) -> Self:
        try:
            for pid in self._pids:
                pidfd = os.pidfd_open(pid)
                self._pidfds.append(pidfd)
                for fd in sockets_of(pid).values():
                    # Thousands would take longer than there is time before the first slice.
                    if len(self._sockets) > _MOST_CONNECTIONS:
                        break
                    if _received(pidfd, fd) is not None:
                        self._sockets.append((pidfd, fd))
        except OSError:
            self._sockets = []  # A process has ended, or may not be looked at.
        return self

    def __exit__(self, *_: object) -> None:
        for pidfd in self._pidfds:
            os.close(pidfd)
        self._pidfds, self._sockets = [], []

    def bytes(self) -> int | None:
        """The bytes of these connections so far; None: one ended, there are none or too many."""
        if not 0 < len(self._sockets) <= _MOST_CONNECTIONS:
            return None
        received = [_received(*each) for each in self._sockets]
        known = [each for each in received if each is not None]
        return sum(known) if len(known) == len(received) else None


def _received(pidfd: int, fd: int) -> int | None:
    """The bytes received; None where it is no established TCP connection, or may not be asked."""
    taken: int = ctypes.CDLL(None).syscall(_PIDFD_GETFD, pidfd, fd, 0)
    if taken < 0:
        return None
    try:
        sock = socket.socket(fileno=taken)
    except OSError:
        os.close(taken)
        return None  # It is no socket any more: the process has opened something else there.
    try:
        with sock:
            told = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except OSError:
        return None  # It is another kind of socket.
    if len(told) < _RECEIVED_AT + 8 or told[0] != _ESTABLISHED:
        return None
    return int.from_bytes(told[_RECEIVED_AT : _RECEIVED_AT + 8], sys.byteorder)
