"""Progress is told between runs: rewritten lines on a terminal, a line for each round elsewhere."""

from __future__ import annotations

import errno
import io
import signal
import threading
from pathlib import Path

import msgspec
import pytest
from tests.support.experiments import flat_out_run, paced_run, way

from tinygram_bench.host.probes.stolen import CpuTime, cpu_time
from tinygram_bench.model.result import Case, Run
from tinygram_bench.runs.progress import Progress

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


def case_of(case_id: str, rate_per_s: float | None = None) -> Case:
    return msgspec.structs.replace(way("loop/nagle", rate_per_s), case_id=case_id)


FLAT_OUT = case_of("loop/nagle")
PACED = case_of("loop/nodelay", rate_per_s=1000.0)


def run_of(case: Case, latency_us: float = 20.0, failure: str | None = None) -> Run:
    if case.is_flat_out:
        return flat_out_run(case, 0, 2000.0)
    return msgspec.structs.replace(paced_run(case, 0, latency_us, samples=1000), failure=failure)


class Stolen:
    """Each 1,000 ticks have 5 that are stolen; 1,000 pass each time that somebody asks."""

    asked = 0

    def __call__(self) -> CpuTime:
        self.asked += 1
        return CpuTime(5 * self.asked, 1000 * self.asked)


def measure(stream: FakeStream, *, quiet: bool = False) -> str:
    """Two rounds of two cases, 40 s each, the second of which fails at first."""
    clock, stolen = FakeClock(), Stolen()
    with Progress(4, quiet=quiet, stream=stream, clock=clock, read_cpu_time=stolen) as progress:
        for round in (1, 2):
            for case in (FLAT_OUT, PACED):
                progress.cases_started([case], round, 2)
                clock.now_s += 40
                failure = "reset\nby peer" if case is PACED and round == 1 else None
                progress.run_finished(39.5, case, run_of(case, 20, failure))
    return stream.getvalue()


def test_a_line_for_each_round_where_the_output_is_no_terminal() -> None:
    assert measure(FakeStream(terminal=False)) == (
        "run 1/4 · round 1/2\n"
        "failed after 39.5 s: loop/nodelay: reset by peer\n"
        "run 3/4 · round 2/2 · 1 min 20 s left · 0.5 % of the host stolen · rate 2,000/s\n"
    )


def test_the_line_of_a_round_has_the_ranges_of_the_one_before() -> None:
    stream = FakeStream(terminal=False)
    faster, slower = PACED, case_of("loop/tick", rate_per_s=10_000.0)
    with Progress(4, stream=stream, clock=FakeClock(), read_cpu_time=lambda: None) as progress:
        progress.cases_started([faster, slower], 1, 2)
        progress.run_finished(1.0, faster, run_of(faster, 20))
        progress.run_finished(1.0, slower, run_of(slower, 40))
        progress.cases_started([slower, faster], 2, 2)
    assert stream.getvalue().splitlines()[-1] == (
        "run 3/4 · round 2/2 · 0 s left · due 1,000–10,000/s · p50 20–40 µs · p99 20–40 µs"
    )


def test_what_may_end_early_has_so_many_runs_at_most() -> None:
    stream, clock = FakeStream(terminal=False), FakeClock()
    with Progress(
        80, may_end_early=True, most_s=90, stream=stream, clock=clock, read_cpu_time=lambda: None
    ) as progress:
        progress.cases_started([PACED], 1, 40)
        clock.now_s += 30
        progress.run_finished(30, PACED, run_of(PACED, 20, "it broke"))
        progress.cases_started([PACED], 2, 40)
    first, _, last = stream.getvalue().splitlines()
    assert first == "run 1/80 at most · round 1/40 at most"
    assert last == "run 2/80 at most · round 2/40 at most · 1 min 0 s left at most"


def test_rewritten_lines_on_a_terminal_where_failures_stay() -> None:
    up = "\x1b[1A\x1b[2K"
    half = "0.5 % of the host stolen"
    assert measure(FakeStream(terminal=True)) == (
        f"{ERASE}run 1/4 · round 1/2\n"
        "  loop/nagle"
        f"{ERASE}{up}run 2/4 · round 1/2 · 2 min 0 s left · {half}\n"
        "  loop/nodelay"
        f"{ERASE}{up}failed after 39.5 s: loop/nodelay: reset by peer\n"
        f"{ERASE}run 3/4 · round 2/2 · 1 min 20 s left · {half}\n"
        "  loop/nagle  rate 2,000/s"
        f"{ERASE}{up}run 4/4 · round 2/2 · 40 s left · {half}\n"
        "  loop/nodelay"
        f"{ERASE}{up}"
    )


@pytest.mark.parametrize("columns", [20, 40, 60])
def test_no_line_wraps_on_a_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """Each erase sequence clears one line only."""
    monkeypatch.setenv("COLUMNS", str(columns))
    case = case_of("stream/asyncio/tinygram/adaptive/loopback", rate_per_s=1000.0)
    stream = FakeStream(terminal=True)
    with Progress(2, stream=stream, read_cpu_time=lambda: None) as progress:
        progress.run_finished(1.0, case, run_of(case, 20))
        progress.cases_started([case], 1, 1)
    shown = stream.getvalue().removeprefix(ERASE).partition(ERASE)[0].splitlines()
    assert max(map(len, shown)) < columns
    if columns == 60:
        assert shown[1].endswith("µs")


def test_many_cases_are_shown_as_far_as_the_terminal_is_high(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LINES", "8")
    stream = FakeStream(terminal=True)
    cases = [case_of(f"case-{number}") for number in range(9)]
    with Progress(9, stream=stream, read_cpu_time=lambda: None) as progress:
        progress.cases_started(cases, 1, 1)
    shown = stream.getvalue().removeprefix(ERASE).partition(ERASE)[0].splitlines()
    assert shown[1:] == ["  case-0", "  case-1", "  case-2", "  case-3", "  and 5 more"]


@pytest.mark.parametrize("lines", [1, 4])
def test_a_terminal_too_low_for_two_cases_is_told_how_many_there_are(
    monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    monkeypatch.setenv("LINES", str(lines))
    stream = FakeStream(terminal=True)
    with Progress(2, stream=stream, read_cpu_time=lambda: None) as progress:
        progress.cases_started([FLAT_OUT, PACED], 1, 1)
    shown = stream.getvalue().removeprefix(ERASE).partition(ERASE)[0].splitlines()
    assert shown[1:] == ["  and 2 more"]


@pytest.mark.parametrize("terminal", [False, True])
def test_quiet_writes_nothing(terminal: bool) -> None:
    assert measure(FakeStream(terminal=terminal), quiet=True) == ""


def test_nothing_wakes_up_during_a_run() -> None:
    threads = threading.enumerate()
    with Progress(1, stream=FakeStream(terminal=True)) as progress:
        progress.cases_started([FLAT_OUT], 1, 1)
        assert threading.enumerate() == threads
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_interrupted_terminal_line_is_erased() -> None:
    stream = FakeStream(terminal=True)

    def interrupted() -> None:
        with Progress(1, stream=stream) as progress:
            progress.cases_started([FLAT_OUT], 1, 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stream.getvalue().endswith(f"loop/nagle{ERASE}\x1b[1A\x1b[2K")


def test_a_closed_terminal_does_not_end_a_measurement() -> None:
    class Closed(FakeStream):
        def write(self, text: str) -> int:
            raise OSError(errno.EIO, text)

    assert measure(Closed(terminal=True)) == ""


def test_the_share_that_was_stolen(tmp_path: Path) -> None:
    """Guests' time is within that of users: counted twice it would make the share smaller."""
    (tmp_path / "proc").mkdir()
    stat = tmp_path / "proc" / "stat"
    stat.write_text("cpu  100 0 100 700 0 0 0 100 50 0\ncpu0 1 1\n")
    before = cpu_time(tmp_path)
    stat.write_text("cpu  200 0 200 1300 0 0 0 300 150 0\ncpu0 1 1\n")
    after = cpu_time(tmp_path)
    assert before is not None
    assert after is not None
    assert after.stolen_share_since(before) == 0.2
    assert before.stolen_share_since(before) is None


@pytest.mark.parametrize(
    "text", ["", "cpu 1 2\n", "cpu a b c d e f g h\n", "intr 1 2 3 4 5 6 7 8\n"]
)
def test_a_kernel_that_does_not_say_what_was_stolen(tmp_path: Path, text: str) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "stat").write_text(text)
    assert cpu_time(tmp_path) is None
