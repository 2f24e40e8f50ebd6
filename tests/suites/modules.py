"""The suites, their test modules, and the running of one module on one kind of loop."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PROGRAM = Path(__file__).with_name("run_module.py")
_LONGEST_S = 240.0


@dataclass(frozen=True)
class Suite:
    """Another project's tests. `folder` is None where they are imported as a package."""

    name: str
    modules: tuple[str, ...]
    folder: Path | None
    remedy: str
    """What to do where there are no modules."""


def cpythons() -> Suite:
    """The tests of asyncio that came with this interpreter."""
    remedy = "this Python has no tests of its own: apt-get install libpython3.X-testsuite (Debian)"
    if importlib.util.find_spec("test.test_asyncio") is None:
        return Suite("cpython", (), None, remedy)
    found = importlib.util.find_spec("test.test_asyncio")
    assert found is not None
    assert found.submodule_search_locations is not None
    names = _modules_in(Path(next(iter(found.submodule_search_locations))))
    return Suite("cpython", tuple(f"test.test_asyncio.{name}" for name in names), None, remedy)


def uvloops() -> Suite:
    """The tests of the uvloop that is installed, from its source."""
    folder = ROOT / "target/suites" / f"uvloop-{importlib.metadata.version('uvloop')}" / "tests"
    return Suite("uvloop", tuple(_modules_in(folder)), folder, "run scripts/uvloop-suite")


def _modules_in(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("test_*.py"))


@dataclass(frozen=True)
class Outcome:
    """How a test ended: `passed`, `skipped`, `failed`, `died` …; and the traceback or reason."""

    name: str
    detail: str = ""


@dataclass
class Ran:
    """What came of a module."""

    tests: dict[str, Outcome] = field(default_factory=dict)
    connections: int = 0
    ended: str = ""
    """How its process ended, with its last words; empty if it ran to its end."""


def run_module(module: str, folder: Path | None, install: str, work: Path) -> Ran:
    """Run it in a process of its own, whose files are in `work`, an empty folder."""
    notes = work / "notes"
    notes.touch()
    arguments = [str(_PROGRAM), module, install, str(notes), *([str(folder)] if folder else [])]
    with open(work / "output", "w+b") as output:
        process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=work,
            start_new_session=True,
        )
        ended = _end_of(process)
        output.seek(0)
        last_words = output.read()[-3000:].decode(errors="replace")
    ran = _read(notes, ended)
    if ended:
        ran.ended = f"{ended}\n{last_words}"
    return ran


def _end_of(process: subprocess.Popen[bytes]) -> str:
    try:
        status = process.wait(_LONGEST_S)
    except subprocess.TimeoutExpired:
        status = None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if status is None:
        return f"was stopped after {_LONGEST_S:.0f} s"
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}" if status else ""


def _read(notes: Path, ended: str) -> Ran:
    ran = Ran()
    for line in notes.read_text().splitlines():
        noted = json.loads(line)
        if "connections" in noted:
            ran.connections = noted["connections"]
            continue
        name, detail = noted["outcome"], noted.get("detail", "")
        known = ran.tests.get(noted["test"])
        # One that failed in a subtest, or was torn down badly, has not passed.
        if known is None or known.name != "failed":
            ran.tests[noted["test"]] = Outcome(name, detail)
    for test, outcome in ran.tests.items():
        if outcome.name == "began":
            ran.tests[test] = Outcome("died", ended)
    return ran
