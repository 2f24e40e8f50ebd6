"""The result of a measurement while it grows: saved after every round, and at the end.

Laws: saving happens between rounds, never during one; a failure to save does not end a measurement,
and is told at once; at the end the tables are printed whether or not the result could be saved.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from tinygram_bench._native import Histogram
from tinygram_bench.crosscheck.interleaved import Interleaved
from tinygram_bench.measurement.anonymous import anonymised
from tinygram_bench.measurement.resuming import differences, warning_of
from tinygram_bench.model.cross_check import CrossCheck
from tinygram_bench.model.errors import OutputError
from tinygram_bench.model.plain_text import as_utf8
from tinygram_bench.model.result import (
    SCHEMA_VERSION,
    Ending,
    Plan,
    Result,
    Resumption,
    Run,
    RunCases,
)
from tinygram_bench.model.store import Destination
from tinygram_bench.processes.interrupts import INTERRUPTS
from tinygram_bench.report import answer_of
from tinygram_bench.runs.progress import Progress
from tinygram_bench.statistics import compare, summarise

_MOST_OF_A_ROUND = 0.1
"""Results are summed up after a round while that takes at most this share of a round's time."""


class Recording:
    """Records the runs of `plan`; `found` is the environment in which they are made.

    `peers`: other programs in the same rounds. `sum_up`: gives the result its summaries, verdicts
    and answer.
    """

    def __init__(
        self,
        plan: Plan,
        destination: Destination,
        found: Mapping[str, Any],
        peers: Interleaved | None,
        progress: Progress,
        *,
        command: tuple[str, ...],
        sum_up: Callable[[Result], Result],
    ) -> None:
        """Raises UsageError where what was measured earlier is not comparable with `found`."""
        self._plan = plan
        self._destination = destination
        self._environment = dict(found)
        self._peers = peers
        self._progress = progress
        self._command = tuple(map(as_utf8, command))
        self._sum_up = sum_up
        self._host = as_utf8(socket.gethostname())
        self._started_at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        self._earlier = destination.earlier
        self._differs: dict[str, Any] = {}
        if self._earlier is not None:
            self._differs = differences(self._earlier, found, destination.path)
        self._round_began_s = time.monotonic()
        self._summing_up_s = 0.0
        self._is_told = False

    def around(self, run_cases: RunCases) -> RunCases:
        """A `RunCases` whose runs are marked."""
        return lambda cases, round: [self.marked(each) for each in run_cases(cases, round)]

    def marked(self, run: Run) -> Run:
        """The run with its samples counted, and with a warning if the environment has changed."""
        counts = {name: Histogram.from_base64(text).count for name, text in run.histograms.items()}
        warnings = run.warnings
        if self._earlier is not None:
            warning = warning_of(self._earlier, self._differs, self._host)
            warnings += () if warning is None else (warning,)
        return msgspec.structs.replace(run, sample_counts=counts, warnings=warnings)

    def keep(self, runs: Sequence[Run]) -> None:
        """Save the runs so far after a round; if that fails, say so once, and go on."""
        round_s = time.monotonic() - self._round_began_s
        is_summed_up = self._summing_up_s <= round_s * _MOST_OF_A_ROUND
        # Around the error, too: what is held comes at the block's end, unless that raises.
        with INTERRUPTS.held():
            try:
                self._destination.keep(self.result_of(runs, is_summed_up=is_summed_up))
            except OutputError as error:
                if not self._is_told:
                    self._is_told = True
                    self._progress.warn(
                        f"tinygram: {error}; the measurement goes on, and saving is tried again "
                        "after every round"
                    )
        self._round_began_s = time.monotonic()

    def grow(self, plan: Plan) -> None:
        """Replace the plan by one that has more cases, and more rounds."""
        self._plan = plan

    def finish(
        self, runs: Sequence[Run], ending: Ending | None
    ) -> tuple[Result, OutputError | None]:
        """Save everything; return the result, and why it could not be saved at its destination."""
        with INTERRUPTS.held():
            result = self.result_of(runs, ending)
            try:
                self._destination.save(result)
            except OutputError as error:
                return result, self._saved_elsewhere(result, error)
        return result, None

    def rescue(self, runs: Sequence[Run]) -> None:
        """Save the finished runs of a measurement that cannot go on, and say where they are."""
        if runs:
            _, unsaved = self.finish(runs, None)
            saved = f"the finished rounds are saved: {self._destination.path}"
            self._progress.warn(f"tinygram: {unsaved or saved}")

    def result_of(
        self, runs: Sequence[Run], ending: Ending | None = None, *, is_summed_up: bool = True
    ) -> Result:
        """The result of `runs`: with summaries, verdicts and answer if `is_summed_up`."""
        own, cross_check = tuple(runs), None
        if self._peers is not None:
            own, cross_check = self._peers.without_peers(runs), self._peers.found()
        result = msgspec.structs.replace(self._raw(own, cross_check), ending=ending)
        if is_summed_up:
            began_s = time.monotonic()
            result = self._sum_up(result)
            self._summing_up_s = time.monotonic() - began_s
        return anonymised(result) if self._destination.is_anonymous else result

    def _raw(self, runs: tuple[Run, ...], cross_check: CrossCheck | None) -> Result:
        earlier = self._earlier
        if earlier is not None:
            resumption = Resumption(
                started_at=self._started_at,
                host=self._host,
                finished_runs=len(earlier.runs),
                differs=self._differs,
            )
            return msgspec.structs.replace(
                earlier,
                plan=self._plan,
                runs=runs,
                summaries=(),
                verdicts=(),
                cross_check=cross_check,
                answer=(),
                resumptions=(*earlier.resumptions, resumption),
            )
        return Result(
            schema_version=SCHEMA_VERSION,
            command=self._command,
            environment=self._environment,
            plan=self._plan,
            runs=runs,
            summaries=(),
            verdicts=(),
            cross_check=cross_check,
            started_at=self._started_at,
            host=self._host,
        )

    def _saved_elsewhere(self, result: Result, error: OutputError) -> OutputError:
        kept = self._destination.saved
        elsewhere = self._destination.save_elsewhere(result)
        if elsewhere is not None:
            return OutputError(f"{error}; the result is in {elsewhere} instead")
        if kept is not None:
            return OutputError(
                f"{error}; the file holds the first {len(kept.runs)} of {len(result.runs)} runs"
            )
        return OutputError(f"{error}; nothing of the result is saved")


def summed_up(raw: Result) -> Result:
    """The result with all summaries and verdicts, and its answer."""
    summaries = summarise(raw.plan, raw.runs)
    verdicts = compare(raw.plan, summaries, raw.runs)
    result = msgspec.structs.replace(raw, summaries=summaries, verdicts=verdicts)
    return msgspec.structs.replace(result, answer=answer_of(result))
