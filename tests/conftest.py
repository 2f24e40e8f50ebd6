"""What holds for every test.

With TINYGRAM_REQUIRE_ALL set, as in CI, a skipped test fails the whole: there a missing
permission or package must not pass for success.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# `tests.…` is importable however pytest is started.
sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.command import Call, Called, Command, Refused
from tests.support.serve_command import serving

# The same examples every time, and no deadline: a slow machine is no fault of the code.
settings.register_profile("tinygram", derandomize=True, deadline=None)
settings.load_profile("tinygram")

# A shell ignores Ctrl-C and Ctrl-\ for what it starts in the background, nohup(1) a closed
# terminal, and programs under test inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Tests run beside each other, and beside measurements: none is to hear of another.
_LOCKS = tempfile.TemporaryDirectory(prefix="tinygram-locks-")
os.chmod(_LOCKS.name, 0o755)
os.environ["TINYGRAM_CORES_LOCK"] = f"{_LOCKS.name}/cores.lock"
# Nor of what the user's `tinygram trust` found, which each result takes along.
os.environ["XDG_CACHE_HOME"] = f"{_LOCKS.name}/cache"


# The tests stay to the end: Python's collector would look at them in vain, again and again.
gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if skipped and os.environ.get("TINYGRAM_REQUIRE_ALL"):
        reporter.ensure_newline()
        for report in skipped:
            reporter.write_line(f"SKIPPED, AND ALL ARE REQUIRED: {report.nodeid}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Call:
    """Starting a process for each would take most of the tests' time."""
    from tinygram_bench.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    def in_process(*words: object) -> Called:
        monkeypatch.setattr(sys, "argv", ["tinygram", *map(str, words)])
        with pytest.raises(SystemExit) as exited:
            main()
        return Called(exited.value.code, *capsys.readouterr())

    return in_process


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Refused:
    """It runs in this process; the exit status is 2."""

    # The library's own tests run without the bench.
    from tinygram_bench.cli import main

    def check(words: Sequence[str], said: Sequence[str]) -> None:
        monkeypatch.setattr(sys, "argv", ["tinygram", *words])
        with pytest.raises(SystemExit, match=r"^2$"):
            main()
        out, told = capsys.readouterr()
        assert out == ""
        assert told.startswith("tinygram: error: ")
        assert len(told.splitlines()) == 1, told
        assert all(each in told for each in said), told

    return check


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """What `--server` names: `tinygram serve`, for all tests of a file that leave it running."""
    with serving("--port", 0) as served:
        yield f"127.0.0.1:{served.port}"


@pytest.fixture
def command(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Command]:
    """`tinygram` in an empty folder; whatever it started must be gone afterwards.

    Its subcommand is the test's parameter, or else what its folder in tests/ is called.
    """
    room = request.path.relative_to(Path(__file__).parent).parts[0]
    command = Command(tmp_path, getattr(request, "param", room))
    yield command
    command.end()
