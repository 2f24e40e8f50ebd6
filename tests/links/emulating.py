"""Runs `tinygram emulate` as its user does, and knows all processes that came of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import Started
from tests.support.waiting import wait_until


@dataclass(frozen=True)
class Done:
    """An ended command."""

    code: int
    stdout: str
    stderr: str


class Emulate(Started):
    """`tinygram emulate`, in a folder."""

    def __init__(self, folder: Path, prefix: Sequence[str] = ()) -> None:
        """`prefix`: a program that runs the command, with its options."""
        super().__init__()
        self.folder = folder
        self._command = (*prefix, sys.executable, "-B", "-m", "tinygram_bench", "emulate")

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """Start `tinygram emulate ARGUMENTS`."""
        return self.start_marked([*self._command, *map(str, arguments)], self.folder, {})

    def start_on(self, terminal_fd: int, *arguments: object) -> subprocess.Popen[str]:
        """Start it in the foreground of a terminal of its own (setsid(1) --ctty takes stdin)."""
        words = ["setsid", "--ctty", *self._command, *map(str, arguments)]
        return self.start_marked(words, self.folder, {}, terminal_fd)

    def run(self, *arguments: object) -> Done:
        """Run it to its end, after which nothing of it may be left."""
        process = self.start(*arguments)
        stdout, stderr = self.said_at_end(process)
        self.wait_gone()
        return Done(process.returncode, stdout, stderr)

    def wait_sleeping(self, count: int) -> list[int]:
        """Wait until so many programs `sleep` run; their pids."""
        pids: list[int] = []

        def are_there() -> bool:
            pids[:] = [pid for pid, name in self.processes().items() if name == "sleep"]
            return len(pids) == count

        wait_until(are_there, 60.0, f"{count} sleep")
        return pids


def without_tun() -> tuple[str, ...]:
    """What runs a command that finds no /dev/net/tun, though this machine may have it."""
    own = ("unshare", "--mount", *(("--map-root-user",) if os.geteuid() else ()))
    # Where the folder is missing so is the device.
    hide = '[ ! -d /dev/net ] || mount -t tmpfs none /dev/net; exec "$@"'
    return (*own, "sh", "-ec", hide, "sh")
