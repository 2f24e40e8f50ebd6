"""Whether a measurement is writing a result file: it tells by a lock that ends with its process.

The lock (flock(2)) is on the file itself. Saving puts a new file in the place of the old one, so
the new one is locked before it gets its name: at no time has the name a file that is not locked.
Where the file system has no locks nothing is known, and nothing is refused.
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
        """Lock the file that has this name; False where another has locked it."""
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
        """Lock this file as well; at the block's end it alone, after an exception the former."""
        fd = _locked(path)
        try:
            yield
        except BaseException:
            if fd is not None:
                os.close(fd)
            raise
        self._keep(fd)

    def close(self) -> None:
        """Lock nothing any more."""
        self._keep(None)

    def _keep(self, fd: int | None) -> None:
        former, self._fd = self._fd, fd
        if former is not None:
            os.close(former)


def _locked(path: Path) -> int | None:
    """A descriptor of the file, locked; None where it cannot be opened or locked.

    Raises BlockingIOError where another has locked it.
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
