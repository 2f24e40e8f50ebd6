"""Starts programs, and knows every process that came of them.

Each carries a mark in its environment, which its children inherit: what bears the mark is a test's
own, whatever it is called and whoever its parent is now.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest
from tests.support.waiting import GONE_S, LONGEST_S, wait_until

_ROOT = Path(__file__).parents[2]
_MARK = "TINYGRAM_TEST_MARK"
_APPEARS_S = 60.0
LOOKS_EVERY_S = 0.025
"""How often whoever only waits asks for the processes: all of the host are looked at each time."""
_KNOWN_S = 0.5
"""How long a process that bears no mark is passed over: none gets one later, but its number may
become another's.
"""


class Started:
    """Processes that were started with a mark in their environment, and all that came of them."""

    def __init__(self) -> None:
        self._mark = uuid.uuid4().hex
        self._started: list[subprocess.Popen[str]] = []
        self._others: set[str] = set()
        self._forgets_others_s = 0.0

    def start_marked(
        self,
        words: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        terminal_fd: int | None = None,
    ) -> subprocess.Popen[str]:
        """Start a program in a folder; without a terminal what it says goes into pipes."""
        process = subprocess.Popen(
            words,
            stdin=DEVNULL if terminal_fd is None else terminal_fd,
            stdout=PIPE if terminal_fd is None else terminal_fd,
            stderr=PIPE if terminal_fd is None else terminal_fd,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": search_path(), _MARK: self._mark, **environment},
        )
        self._started.append(process)
        self._others.clear()  # Before it was our program it was a copy of us, without a mark.
        return process

    def processes(self) -> dict[int, str]:
        """The living processes that came of the commands: pid → name."""
        now_s = time.monotonic()
        if now_s >= self._forgets_others_s:
            self._others.clear()
            self._forgets_others_s = now_s + _KNOWN_S
        pids = [pid for pid in os.listdir("/proc") if pid.isdigit() and pid not in self._others]
        return {int(pid): name for pid in pids if (name := self._name_of(pid)) is not None}

    def _name_of(self, pid: str) -> str | None:
        """The name of a living process that bears the mark; None of any other."""
        # Whoever waits asks time and again, of every process: hence neither pathlib nor buffers.
        try:
            with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
                environment = file.readall()
            if f"{_MARK}={self._mark}".encode() in environment.split(b"\0"):
                with open(f"/proc/{pid}/comm") as file_of_name:
                    return file_of_name.read().strip()
            # Where there is none, another program is about to begin, or this one has ended.
            if environment:
                self._others.add(pid)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass  # It has ended since it was listed, or is another user's; ours can be read.
        return None

    def said_at_end(self, process: subprocess.Popen[str]) -> tuple[str, str]:
        """Wait for its end; what it said. After `LONGEST_S` all is killed, and the test fails."""
        try:
            return process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            left = self.processes()
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            stdout, stderr = process.communicate(timeout=GONE_S)
        pytest.fail(f"not ended within {LONGEST_S} s: {left}\n{stdout}\n{stderr}")

    def wait_process(self, name: str, besides: frozenset[int] = frozenset()) -> int:
        """Wait for a process of that name that is not among `besides`; its pid."""
        pids: list[int] = []

        def is_there() -> bool:
            pids[:] = [
                pid
                for pid, found in self.processes().items()
                if found == name and pid not in besides
            ]
            return bool(pids)

        wait_until(is_there, _APPEARS_S, f"a process {name} appears", LOOKS_EVERY_S)
        return pids[0]

    def wait_gone(self) -> None:
        """Assert that no process is left, or soon none."""
        wait_until(
            lambda: not self.processes(),
            GONE_S,
            lambda: f"nothing is left of {self.processes()}",
            LOOKS_EVERY_S,
        )

    def end(self) -> None:
        """End what a failed test left running, and close its pipes."""
        for process in self._started:
            process.kill()
            process.communicate(timeout=LONGEST_S)
        self.wait_gone()


def search_path() -> str:
    """PYTHONPATH for a process that is to find our programs, and what this Python was told of."""
    told = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([str(_ROOT), told] if told else [str(_ROOT)])


def children_of(pid: int) -> list[int]:
    """The processes that it has started and not ended; none where it has ended itself."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []
