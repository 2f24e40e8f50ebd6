"""Runs `tinygram` with a subcommand that measures, as its user does, and reads its result."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.processes import LOOKS_EVERY_S, Started
from tests.support.waiting import GONE_S, wait_until

_STOPPED = re.compile(
    r"no message came back|no call was finished|nothing was published"
    r"|the sender handed over \[0(, 0)*\] messages"
)
"""How a run in slices fails where a busy host has kept one of its ends from all of them."""
_ATTEMPTS = 3
_MOST_ANEW = 3
"""No more commands are run anew in a process of tests: that would be a fault of ours."""
_anew: list[tuple[object, ...]] = []


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

    @property
    def was_stopped(self) -> bool:
        """Whether one of the runs says that nothing came in its slices."""
        runs = self.result.get("runs", ()) if isinstance(self.result, dict) else ()
        return any(_STOPPED.match(run["failure"] or "") for run in runs)

    def run_of(self, beginning: str) -> Any:
        """The one run of a case whose name begins so."""
        (run,) = [run for run in self.runs if run["case_id"].startswith(beginning)]
        return run

    def counters_of(self, index: int = 0) -> dict[str, int]:
        """The counters of one run, which must have succeeded."""
        assert self.runs[index]["failure"] is None
        counters = self.runs[index]["counters"]
        assert isinstance(counters, dict)
        return counters


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
        """Run it to its end; anew, twice at most, where one of its runs seems to have had no time.

        That is told among the warnings.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            done = self.finish(self.start(*arguments, environment=environment))
            if not done.was_stopped or len(_anew) == _MOST_ANEW:
                break
            _anew.append(arguments)
            warnings.warn(f"attempt {attempt} had a run without time: {arguments}", stacklevel=2)
        return done

    def wait_gone(self) -> None:
        """Assert that no process and no temporary file is left, or soon none."""
        wait_until(
            lambda: not self.processes() and not list(self.temporary.iterdir()),
            GONE_S,
            lambda: f"nothing is left of {self.processes()}, {list(self.temporary.iterdir())}",
            LOOKS_EVERY_S,
        )
        assert [path.name for path in self.folder.glob(".tinygram-*")] == []


class Called(NamedTuple):
    """How a command ended that ran in this process, and what it said."""

    returncode: object
    stdout: str
    stderr: str


Call = Callable[..., Called]
"""The fixture `call`: `tinygram WORDS` in the test's folder, and in this process."""
Refused = Callable[[Sequence[str], Sequence[str]], None]
"""The fixture `refused`: `tinygram WORDS` must be refused in one line, which says all of these."""


def run_once(folder: Path, subcommand: str, *arguments: object) -> Done:
    """Run `tinygram SUBCOMMAND` in an empty folder to its end; nothing of it is left."""
    command = Command(folder, subcommand)
    try:
        return command.run(*arguments)
    finally:
        command.end()
