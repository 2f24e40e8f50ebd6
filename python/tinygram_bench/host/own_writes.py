"""Counts the running process's own writes to a connection, without starting another process.

The library that is otherwise preloaded (crates/load, count_writes.c) is loaded into the running
process, and the calls of all loaded code are led to it: Python's, uvloop's and native modules'.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from tinygram_bench import _native
from tinygram_bench.model.errors import UsageError

_WATCHED_WORDS = 512
_WRITES = _WATCHED_WORDS
_BYTES = _WATCHED_WORDS + 1
_Shared = ctypes.c_uint64 * (_WATCHED_WORDS + 3)
"""`struct counts` of the library."""
_UNCOUNTED = (
    "writes cannot be counted in this process: that needs Linux on x86-64 or aarch64, and "
    "permission to load a library and to write to the tables of libraries' calls"
)


class Counted(Struct):
    """What was written to a connection: the numbers of system calls and of bytes."""

    writes: int = 0
    written_bytes: int = 0


class OwnWrites:
    """The counting library, which stays in this process until its end."""

    def __init__(self) -> None:
        """Raises UsageError where calls cannot be led to it: another processor, or hardening."""
        fd = os.memfd_create("tinygram-count-writes")
        try:
            os.write(fd, _native.count_writes_library())
            self._library = ctypes.CDLL(f"/proc/self/fd/{fd}")
        except OSError as error:
            raise UsageError(f"{_UNCOUNTED}: {error}") from error
        finally:
            os.close(fd)
        self._library.tinygram_write_counts.restype = ctypes.POINTER(_Shared)
        self._lead()
        self._shared = self._library.tinygram_write_counts().contents
        self._is_counting = False

    @contextmanager
    def counting(self, connection: Any) -> Iterator[Counted]:
        """Count the writes to the connection within the block; the counts are filled in after it.

        `connection`: a socket, a descriptor, a transport or a StreamWriter. Raises TypeError where
        it is none of them, and RuntimeError within another such block: there is only one count.
        """
        if self._is_counting:
            raise RuntimeError("writes are counted already: one connection at a time can be")
        watched = _descriptors_of(_fd_of(connection))
        self._lead()  # Also the code that was loaded since.
        counted = Counted()
        before = self._shared[_WRITES], self._shared[_BYTES]
        self._is_counting = True
        try:
            for fd in watched:
                self._shared[fd // 64] |= 1 << fd % 64
            yield counted
        finally:
            for word in range(_WATCHED_WORDS):
                self._shared[word] = 0
            self._is_counting = False
            counted.writes = self._shared[_WRITES] - before[0]
            counted.written_bytes = self._shared[_BYTES] - before[1]

    def _lead(self) -> None:
        if self._library.tinygram_lead_writes_here():
            raise UsageError(_UNCOUNTED)


def _fd_of(connection: Any) -> int:
    if isinstance(connection, int):
        return connection
    if hasattr(connection, "get_extra_info"):
        connection = connection.get_extra_info("socket")
    if not hasattr(connection, "fileno"):
        raise TypeError(
            f"{connection!r} is no connection: name a socket, its descriptor, a transport or a "
            "StreamWriter"
        )
    return int(connection.fileno())


def _descriptors_of(fd: int) -> list[int]:
    """All descriptors of the same socket, as uvloop has its own. Raises OSError and ValueError."""
    wanted = os.fstat(fd)
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            is_same = os.path.samestat(os.fstat(int(name)), wanted)
        except OSError:
            continue  # Closed since it was listed.
        if is_same:
            found.append(int(name))
    if max(found) >= 64 * _WATCHED_WORDS:
        raise ValueError(f"descriptor {max(found)} cannot be watched: {64 * _WATCHED_WORDS} can")
    return found
