"""Progress is told between runs: one rewritten line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import errno
import io
import signal
import threading

import pytest

from tinygram_bench.run.progress import Progress

ERASE = "\r\x1b[2K"


class FakeStream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


class FakeClock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def measure(stream: FakeStream, *, quiet: bool = False) -> str:
    """Four runs of 40 s, the second of which fails."""
    clock = FakeClock()
    with Progress(4, quiet=quiet, stream=stream, clock=clock) as progress:
        for run, label in enumerate(["loop/nagle", "loop/nodelay", "loop/nodelay", "loop/nagle"]):
            progress.run_started(label, 1 + run // 2, 2)
            clock.now_s += 40
            progress.run_finished(39.5, label, "reset\nby peer" if run == 1 else None)
    return stream.getvalue()


def test_plain_lines_where_the_output_is_no_terminal() -> None:
    assert measure(FakeStream(terminal=False)) == (
        "run 1/4 · round 1/2 · loop/nagle\n"
        "run 2/4 · round 1/2 · 2 min 0 s left · loop/nodelay\n"
        "failed after 39.5 s: loop/nodelay: reset by peer\n"
        "run 3/4 · round 2/2 · 1 min 20 s left · loop/nodelay\n"
        "run 4/4 · round 2/2 · 40 s left · loop/nagle\n"
    )


def test_what_may_end_early_has_so_many_runs_at_most() -> None:
    stream, clock = FakeStream(terminal=False), FakeClock()
    with Progress(80, may_end_early=True, most_s=90, stream=stream, clock=clock) as progress:
        progress.run_started("loop/nagle", 1, 40)
        clock.now_s += 30
        progress.run_finished(30, "loop/nagle")
        progress.run_started("loop/nodelay", 1, 40)
    assert stream.getvalue() == (
        "run 1/80 at most · round 1/40 at most · loop/nagle\n"
        "run 2/80 at most · round 1/40 at most · 1 min 0 s left at most · loop/nodelay\n"
    )


def test_one_rewritten_line_on_a_terminal_where_failures_stay() -> None:
    assert measure(FakeStream(terminal=True)) == (
        f"{ERASE}run 1/4 · round 1/2 · loop/nagle"
        f"{ERASE}run 2/4 · round 1/2 · 2 min 0 s left · loop/nodelay"
        f"{ERASE}failed after 39.5 s: loop/nodelay: reset by peer\n"
        f"{ERASE}run 3/4 · round 2/2 · 1 min 20 s left · loop/nodelay"
        f"{ERASE}run 4/4 · round 2/2 · 40 s left · loop/nagle"
        f"{ERASE}"
    )


def test_the_rewritten_line_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The erase sequence clears one line only."""
    monkeypatch.setenv("COLUMNS", "20")
    assert f"{ERASE}run 1/4 · round 1/2{ERASE}" in measure(FakeStream(terminal=True))


@pytest.mark.parametrize("terminal", [False, True])
def test_quiet_writes_nothing(terminal: bool) -> None:
    assert measure(FakeStream(terminal=terminal), quiet=True) == ""


def test_nothing_wakes_up_during_a_run() -> None:
    threads = threading.enumerate()
    with Progress(1, stream=FakeStream(terminal=True)) as progress:
        progress.run_started("loop/nagle", 1, 1)
        assert threading.enumerate() == threads
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_interrupted_terminal_line_is_erased() -> None:
    stream = FakeStream(terminal=True)

    def interrupted() -> None:
        with Progress(1, stream=stream) as progress:
            progress.run_started("loop/nagle", 1, 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stream.getvalue().endswith(f"loop/nagle{ERASE}")


def test_a_closed_terminal_does_not_end_a_measurement() -> None:
    class Closed(FakeStream):
        def write(self, text: str) -> int:
            raise OSError(errno.EIO, text)

    assert measure(Closed(terminal=True)) == ""
