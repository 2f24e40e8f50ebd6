"""The lock on a result file that a measurement is writing; it ends with the process.

The lock (flock(2)) is on the file itself. Saving puts a new file in the place of the old one, so
the new file is locked before it gets that name: the name never belongs to an unlocked file. On a
file system without locks, nothing is known and nothing is refused.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FileLock:
    """A lock on one file at a time, until it is closed or the process ends."""

    def __init__(self) -> None:
        self._fd: int | None = None

    def take(self, path: Path) -> bool:
        """Lock the file of this name; False where it is locked already."""
        while True:
            try:
                fd = _locked(path)
            except BlockingIOError:
                return False
            if fd is None or _has_name(fd, path):
                self._keep(fd)
                return True
            os.close(fd)  # Another file got the name before it was locked.

    @contextmanager
    def passed_to(self, path: Path) -> Iterator[None]:
        """Lock this file as well. After the block only this lock is left, after an exception the
        other.
        """
        fd = _locked(path)
        try:
            yield
        except BaseException:
            if fd is not None:
                os.close(fd)
            raise
        self._keep(fd)

    def close(self) -> None:
        """Release the lock, if there is one."""
        self._keep(None)

    def _keep(self, fd: int | None) -> None:
        former, self._fd = self._fd, fd
        if former is not None:
            os.close(former)


def _locked(path: Path) -> int | None:
    """A descriptor of the file, which is then locked; None where it cannot be opened or locked.

    Raises BlockingIOError where the file is locked already.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return fd


def _has_name(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except OSError:
        return False
