"""Runs one test module of another project's suite in a process of its own, and notes the outcomes.

usage: run_module.py MODULE INSTALL NOTES [FOLDER]

INSTALL is the function that puts loops into place, as `tests.suites.loops:ours`. NOTES gets a line
of JSON for each test that begins and for each that ends, so that a crash names its test, and at the
end how many connections were ours. FOLDER is where MODULE is imported from.
"""

from __future__ import annotations

import importlib
import json
import sys
import unittest
from pathlib import Path
from typing import Any, TextIO

Tests = unittest.TestCase


class Notes(unittest.TestResult):
    """Writes each test's outcome as soon as it is known."""

    def __init__(self, file: TextIO) -> None:
        super().__init__()
        self._file = file
        self._failures: list[str] = []

    def note(self, **what: Any) -> None:
        """One line, in the file at once."""
        self._file.write(json.dumps(what) + "\n")
        self._file.flush()

    def _note_end(self, test: Tests, outcome: str, detail: str = "") -> None:
        self.note(test=test.id(), outcome=outcome, detail=detail)

    def startTest(self, test: Tests) -> None:  # noqa: N802
        super().startTest(test)
        self.note(test=test.id(), outcome="began")

    def addSuccess(self, test: Tests) -> None:  # noqa: N802
        self._note_end(test, "passed")

    def addSkip(self, test: Tests, reason: str) -> None:  # noqa: N802
        self._note_end(test, "skipped", reason)

    def addFailure(self, test: Tests, err: Any) -> None:  # noqa: N802
        self._note_end(test, "failed", self._text(err, test))

    def addError(self, test: Tests, err: Any) -> None:  # noqa: N802
        self._note_end(test, "failed", self._text(err, test))

    def addSubTest(self, test: Tests, subtest: Tests, err: Any) -> None:  # noqa: N802
        if err is not None:
            self._note_end(test, "failed", f"{subtest}\n{self._text(err, test)}")

    def addExpectedFailure(self, test: Tests, err: Any) -> None:  # noqa: N802, ARG002
        self._note_end(test, "failed as expected")

    def addUnexpectedSuccess(self, test: Tests) -> None:  # noqa: N802
        self._note_end(test, "passed unexpectedly")

    def _text(self, err: Any, test: Tests) -> str:
        return str(self._exc_info_to_string(err, test))  # type: ignore[attr-defined]


def main(module: str, install: str, notes: str, folder: str | None = None) -> None:
    sys.path.append(str(Path(__file__).parents[2]))
    where, _, function = install.partition(":")
    getattr(importlib.import_module(where), function)()
    from tests.suites.loops import Counting

    if folder is not None:
        sys.path.insert(0, folder)
    _allow_everything_but_the_network()
    with open(notes, "w") as file:
        result = Notes(file)
        unittest.defaultTestLoader.loadTestsFromName(module).run(result)
        result.note(connections=Counting.connections)


def _allow_everything_but_the_network() -> None:
    """CPython's tests ask whether they may use what is slow, big or outside; all but the last."""
    support: Any = importlib.import_module("test.support")
    support.use_resources = ["cpu", "walltime", "largefile", "subprocess", "decimal", "curses"]
    # A test of TLS that fails on our loops, and is known to, waits this long for its other end.
    support.SHORT_TIMEOUT = 10.0
    support.verbose = 0


if __name__ == "__main__":
    main(*sys.argv[1:])
