"""The library that counts a process's writes (crates/load, count_writes.c), preloaded into it.

The library is only in memory, so that no file is left behind.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from tinygram_bench import _native


class Counting(Struct, frozen=True):
    """`fd` holds the library; a process whose writes are counted inherits it."""

    fd: int

    def environment(self) -> dict[str, str]:
        """This process's environment, extended for a process whose writes are counted."""
        others = os.environ.get("LD_PRELOAD", "")
        return os.environ | {"LD_PRELOAD": f"/proc/self/fd/{self.fd} {others}".strip()}


@contextmanager
def counting() -> Iterator[Counting]:
    """Provide the library until the block's end."""
    fd = os.memfd_create("tinygram-count-writes")
    try:
        os.write(fd, _native.count_writes_library())
        yield Counting(fd)
    finally:
        os.close(fd)
