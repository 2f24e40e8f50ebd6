"""What runs, what is done and how long it will still take: told on stderr, between runs only.

Law: nothing here wakes up during a run. There is no thread and no timer; the parent sleeps while
a case is measured, so the time left is that at the run's start.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from math import inf
from types import TracebackType
from typing import Self, TextIO

_ERASE_LINE = "\r\x1b[2K"


class Progress:
    """A context manager around all runs of a plan.

    `total_runs` is cases × rounds, `earlier_runs` those of them that were finished before;
    `may_end_early`: there may be fewer. `most_s`: after that time no round begins.

    On a terminal it keeps one line, rewritten at each run's start; elsewhere it writes a line per
    run. A failed run always leaves its own line. With `quiet` it writes nothing.
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

    def __enter__(self) -> Self:
        self._started_at_s = self._clock()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the terminal's line empty for what follows."""
        if self._is_terminal:
            self._write(_ERASE_LINE)

    def run_started(self, label: str, round: int, rounds: int) -> None:
        """Tell that the case `label` runs now; `round` counts from 1 to `rounds`."""
        parts = [
            f"run {self._earlier_runs + self._finished_runs + 1}/{self._total_runs}{self._most}",
            f"round {round}/{rounds}{self._most}",
            *self._time_left(),
            label,
        ]
        self._tell(" · ".join(parts), stays=not self._is_terminal)

    def run_finished(self, seconds: float, label: str, failure: str | None = None) -> None:
        """Count a run of the case `label`; `seconds` is how long it took."""
        self._finished_runs += 1
        if failure is not None:
            reason = " ".join(failure.split())
            self._tell(f"failed after {seconds:.1f} s: {label}: {reason}", stays=True)

    def warn(self, line: str) -> None:
        """Tell what must be known, on a line that stays, with `quiet` too."""
        was_quiet, self._quiet = self._quiet, False
        self._tell(line, stays=True)
        self._quiet = was_quiet or self._quiet

    def _time_left(self) -> list[str]:
        """From the mean time of the runs so far, preparation included; nothing before the first."""
        if not self._finished_runs:
            return []
        passed_s = self._clock() - self._started_at_s
        left_runs = self._total_runs - self._earlier_runs - self._finished_runs
        left_s = min(passed_s / self._finished_runs * left_runs, max(0, self._most_s - passed_s))
        minutes, seconds = divmod(round(left_s), 60)
        left = f"{minutes} min {seconds} s left" if minutes else f"{seconds} s left"
        return [left + self._most]

    def _tell(self, line: str, *, stays: bool) -> None:
        if stays:
            line += "\n"
        else:
            # A line that wraps could not be erased.
            line = line[: shutil.get_terminal_size().columns - 1]
        self._write(_ERASE_LINE + line if self._is_terminal else line)

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
