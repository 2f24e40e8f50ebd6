"""Runs `tinygram stream` as its user does, and knows every process that came of it.

Each command carries a mark in its environment, which its workers inherit: what bears the mark is
its own, whatever it is called and whoever its parent is now.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_MARK = "TINYGRAM_TEST_MARK"
GONE_S = 20.0
"""Far more than ending takes on a host that stops for a while; far less than it would live."""
LONGEST_S = 120.0
"""What any command here may take."""
_APPEARS_S = 60.0


@dataclass(frozen=True)
class Done:
    """An ended command; `result` is None where it left no result file."""

    code: int
    stdout: str
    stderr: str
    result: Any

    @property
    def runs(self) -> list[Any]:
        """The runs of the result."""
        found = self.result["runs"]
        assert isinstance(found, list)
        return found

    def counters_of(self, index: int = 0) -> dict[str, int]:
        """The counters of one run, which must have succeeded."""
        assert self.runs[index]["failure"] is None
        counters = self.runs[index]["counters"]
        assert isinstance(counters, dict)
        return counters


class Started:
    """Processes that were started with a mark in their environment, and all that came of them."""

    def __init__(self) -> None:
        self._mark = uuid.uuid4().hex
        self._started: list[subprocess.Popen[str]] = []

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
        return process

    def processes(self) -> dict[int, str]:
        """The living processes that came of the commands: pid → name."""
        mark = f"{_MARK}={self._mark}".encode()
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found[int(entry.name)] = (entry / "comm").read_text().strip()
                except (FileNotFoundError, ProcessLookupError):
                    continue  # It has ended since it was listed.
                except PermissionError:
                    continue  # Another user's; ours can be read.
        return found

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

        wait_until(is_there, _APPEARS_S, f"a process {name} appears")
        return pids[0]

    def wait_gone(self) -> None:
        """Assert that no process is left, or soon none."""
        wait_until(
            lambda: not self.processes(), GONE_S, lambda: f"nothing is left of {self.processes()}"
        )

    def end(self) -> None:
        """End what a failed test left running, and close its pipes."""
        for process in self._started:
            process.kill()
            process.communicate(timeout=LONGEST_S)
        self.wait_gone()


class Command(Started):
    """`tinygram SUBCOMMAND` in `folder`, its temporary files in an empty folder of their own."""

    def __init__(self, folder: Path, subcommand: str = "stream") -> None:
        super().__init__()
        self.folder = folder
        self._subcommand = subcommand
        self.result_path = folder / "result.json"
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.through: tuple[str, ...] = ()
        """A program that starts it, such as setpriv(1), and its arguments."""

    def start(
        self, *arguments: object, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start `tinygram SUBCOMMAND ARGUMENTS --json RESULT`."""
        return self.start_words(
            [*self.words(*arguments), "--json", str(self.result_path)], environment
        )

    def words(self, *arguments: object) -> list[str]:
        """The command line, without `--json`."""
        return [
            *self.through,
            *(sys.executable, "-B", "-m", "tinygram_bench", *self._subcommand.split()),
            *map(str, arguments),
        ]

    def start_words(
        self,
        words: Sequence[str],
        environment: Mapping[str, str] | None = None,
        terminal_fd: int | None = None,
    ) -> subprocess.Popen[str]:
        """Start `words` in the folder."""
        around = {"TMPDIR": str(self.temporary), **(environment or {})}
        return self.start_marked(words, self.folder, around, terminal_fd)

    def finish(self, process: subprocess.Popen[str]) -> Done:
        """Wait for its end; nothing of it may be left then but its result."""
        stdout, stderr = self.said_at_end(process)
        self.wait_gone()
        result = json.loads(self.result_path.read_text()) if self.result_path.exists() else None
        return Done(process.returncode, stdout, stderr, result)

    def run(self, *arguments: object, environment: Mapping[str, str] | None = None) -> Done:
        """Run it to its end."""
        return self.finish(self.start(*arguments, environment=environment))

    def wait_gone(self) -> None:
        """Assert that no process and no temporary file is left, or soon none."""
        wait_until(
            lambda: not self.processes() and not list(self.temporary.iterdir()),
            GONE_S,
            lambda: f"nothing is left of {self.processes()}, {list(self.temporary.iterdir())}",
        )
        assert [path.name for path in self.folder.glob(".tinygram-*")] == []


def search_path() -> str:
    """PYTHONPATH for a process that is to find our programs, and what this Python was told of."""
    told = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([str(_ROOT), told] if told else [str(_ROOT)])


def program(name: str, *arguments: object) -> str:
    """The command line of one of our programs, for `--receiver-command`."""
    return shlex.join([sys.executable, "-m", f"tests.stream.programs.{name}", *map(str, arguments)])


def in_turn(folder: Path, *turns: str) -> str:
    """The command line of receivers that change from start to start, as `turns` describes."""
    starts = folder / f"starts-{uuid.uuid4().hex}"
    starts.mkdir()
    return program("turns", starts, *turns)


def wait_until(
    condition: Callable[[], bool], seconds: float, what: str | Callable[[], str]
) -> None:
    """Ask every 10 ms; AssertionError when it did not come true within `seconds`."""
    give_up_s = time.monotonic() + seconds
    while not condition():
        said = what if isinstance(what, str) else what()
        assert time.monotonic() < give_up_s, f"not within {seconds} s: {said}"
        time.sleep(0.01)
