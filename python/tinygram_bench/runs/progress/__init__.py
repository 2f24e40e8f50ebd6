"""Progress on stderr: what runs, its figures so far, and how long the plan will still take.

Law: nothing here wakes up during a run. There is no thread and no timer; the parent sleeps while
cases are measured. Where cases take turns, their rates so far are told between two slices
(live.py); all other figures are those of finished runs.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from types import TracebackType
from typing import NamedTuple, Self, TextIO

from tinygram_bench.host.probes.stolen import CpuTime, cpu_time
from tinygram_bench.model.result import Case, Run
from tinygram_bench.runs.progress.latest import Latest, in_words, latest_of, number

_ERASE_LINE = "\r\x1b[2K"
_UP_AND_ERASE = "\x1b[1A\x1b[2K"
_MOST_CASES = 12
"""The most cases that are shown on a terminal while they run; fewer where it has fewer lines."""


class _Running(NamedTuple):
    """The cases that run now, in which round, and since when."""

    cases: Sequence[Case]
    round: int
    rounds: int
    since_s: float


class Progress:
    """A context manager around all runs of a plan.

    `total_runs` is cases × rounds, `earlier_runs` how many of them were finished before;
    `may_end_early`: there may be fewer. `most_s`: seconds after which no round begins.

    On a terminal it keeps a few lines, rewritten when cases start and while they take turns: how
    far the plan is, and each running case with its rate so far and the figures of its last run.
    Elsewhere it writes a line at the start of each round, with the ranges of the figures of the
    round before. A failed run always leaves its own line.
    With `quiet` it writes nothing.
    """

    def __init__(
        self,
        total_runs: int,
        *,
        quiet: bool = False,
        earlier_runs: int = 0,
        may_end_early: bool = False,
        most_s: float = inf,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        read_cpu_time: Callable[[], CpuTime | None] = cpu_time,
    ) -> None:
        self._total_runs = total_runs
        self._quiet = quiet
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._is_terminal = self._stream.isatty()
        self._earlier_runs = earlier_runs
        self._most = " at most" if may_end_early else ""
        self._most_s = most_s
        self._finished_runs = 0
        self._started_at_s = 0.0
        self._read_cpu_time = read_cpu_time
        self._cpu_time_at_start: CpuTime | None = None
        self._latest: dict[str, Latest | None] = {}
        self._told_round = 0
        self._lines_up = 0
        self._running = _Running((), 0, 0, 0.0)

    def __enter__(self) -> Self:
        self._started_at_s = self._clock()
        self._cpu_time_at_start = self._read_cpu_time()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the terminal's lines empty for what follows."""
        if self._is_terminal:
            self._write(self._erasing())

    def cases_started(self, cases: Sequence[Case], round: int, rounds: int) -> None:
        """Tell that these cases run now, together; `round` counts from 1 to `rounds`."""
        self._running = _Running(cases, round, rounds, self._clock())
        parts = [*self._how_far(round, rounds), *self._time_left(), *self._stolen()]
        if self._is_terminal:
            self._tell(" · ".join(parts), *self._rows(cases, {}))
        elif round != self._told_round:
            known = [each for each in self._latest.values() if each is not None]
            self._tell(" · ".join((*parts, *in_words(known))))
        self._told_round = round

    @property
    def is_rewritten(self) -> bool:
        """Whether somebody may see what is told while cases run."""
        return self._is_terminal and not self._quiet

    def goes_on(self, rates_per_s: Mapping[str, float], left_s: float) -> None:
        """Tell the rates so far of the cases that run now; they still run for `left_s`."""
        running = self._running
        passed_s = self._clock() - running.since_s
        parts = [
            *self._how_far(running.round, running.rounds),
            *self._time_left(passed_s, (passed_s + left_s) / len(running.cases)),
            *self._stolen(has_run=True),
        ]
        self._tell(" · ".join(parts), *self._rows(running.cases, rates_per_s))

    def run_finished(self, seconds: float, case: Case, run: Run) -> None:
        """Count a run of the case; `seconds` is how long it took."""
        self._finished_runs += 1
        self._latest[case.case_id] = latest_of(case, run)
        if run.failure is not None:
            reason = " ".join(run.failure.split())
            self._tell_for_good(f"failed after {seconds:.1f} s: {case.case_id}: {reason}")

    def warn(self, line: str) -> None:
        """Tell something important on a line that stays, even with `quiet`."""
        was_quiet, self._quiet = self._quiet, False
        self._tell_for_good(line)
        self._quiet = was_quiet or self._quiet

    def _how_far(self, round: int, rounds: int) -> list[str]:
        return [
            f"run {self._earlier_runs + self._finished_runs + 1}/{self._total_runs}{self._most}",
            f"round {round}/{rounds}{self._most}",
        ]

    def _time_left(self, running_s: float = 0, each_s: float | None = None) -> list[str]:
        """How long the plan still takes, by the mean time of its runs so far, preparation included.

        `running_s`: how long the present runs have taken. `each_s`: how long a run takes, for where
        none is finished; None: nothing is told then.
        """
        passed_s = self._clock() - self._started_at_s
        if self._finished_runs:
            each_s = (passed_s - running_s) / self._finished_runs
        if each_s is None:
            return []
        left_runs = self._total_runs - self._earlier_runs - self._finished_runs
        left_s = min(max(0, each_s * left_runs - running_s), max(0, self._most_s - passed_s))
        minutes, seconds = divmod(round(left_s), 60)
        left = f"{minutes} min {seconds} s left" if minutes else f"{seconds} s left"
        return [left + self._most]

    def _stolen(self, *, has_run: bool = False) -> list[str]:
        """The stolen share since the start; nothing where it is not known, or nothing has run."""
        now = self._read_cpu_time()
        has_run = has_run or self._finished_runs > 0
        if now is None or self._cpu_time_at_start is None or not has_run:
            return []
        share = now.stolen_share_since(self._cpu_time_at_start)
        return [] if share is None else [f"{share * 100:.1f} % of the host stolen"]

    def _rows(self, cases: Sequence[Case], rates_per_s: Mapping[str, float]) -> list[str]:
        """The cases that run now, with their rates so far and the figures of their last runs."""
        most = max(1, min(_MOST_CASES, shutil.get_terminal_size().lines - 3))
        shown = cases if len(cases) <= most else cases[: most - 1]
        width = max((len(case.case_id) for case in shown), default=0)
        rows = []
        for case in shown:
            latest = self._latest.get(case.case_id)
            told = [] if latest is None else in_words([latest])
            if case.case_id in rates_per_s:
                told.insert(0, f"now {number(rates_per_s[case.case_id])}/s")
            words = " · ".join(told)
            rows.append(f"  {case.case_id:{width}}  {words}".rstrip())
        if len(shown) < len(cases):
            rows.append(f"  and {len(cases) - len(shown)} more")
        return rows

    def _tell(self, *lines: str) -> None:
        """Tell these lines; on a terminal they stay until others are told."""
        if not self._is_terminal:
            self._write("\n".join((*lines, "")))
            return
        # A line that wraps could not be erased.
        columns = shutil.get_terminal_size().columns - 1
        self._write(self._erasing() + "\n".join(_cut(line, columns) for line in lines))
        self._lines_up = len(lines) - 1

    def _tell_for_good(self, line: str) -> None:
        erasing = self._erasing() if self._is_terminal else ""
        self._write(f"{erasing}{line}\n")

    def _erasing(self) -> str:
        """The characters that erase the shown lines, and go to the first of them."""
        erasing = _ERASE_LINE + _UP_AND_ERASE * self._lines_up
        self._lines_up = 0
        return erasing

    def _write(self, text: str) -> None:
        if self._quiet:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            # Nobody reads it any more, for example because the terminal is closed: that must not
            # end the measurement.
            self._quiet = True


def _cut(line: str, columns: int) -> str:
    """The line in at most `columns`: its end, the figures, counts for more than its middle."""
    if len(line) <= columns:
        return line
    start, gap, end = line.rpartition("  ")
    room = columns - len(gap) - len(end)
    if not start.strip() or room < columns // 4:
        return line[:columns]
    return f"{start.rstrip()[: room - 1]}…{gap}{end}"
