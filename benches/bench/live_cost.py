"""What it costs to be watched: rates told on a terminal between slices (`runs/progress/live.py`).

The same cases take turns with and without somebody who watches, in interleaved pairs: two ways flat
out, and at 5,000 messages a second. Shown are watched ÷ unwatched and its interval, of throughput,
p50 and p99; asked is that the whole interval be within 2 % of 1.
"""

from __future__ import annotations

import os
import pty
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from statistics import median

from msgspec.structs import replace
from pairs import SEED, show_environment, shown, side_by_side, stream_options, verdict

from tinygram_bench.host.awake import cores_awake
from tinygram_bench.model.result import Case, Figure, MessageBytes, Run
from tinygram_bench.runs.bench import Bench, running
from tinygram_bench.runs.progress import Progress
from tinygram_bench.runs.slices import SLICE_NS
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.workloads.stream.cases import plan_stream
from tinygram_bench.workloads.stream.run import Stream

_PAIRS = 12
_OWN_NS = 1_000_000_000
_PACED_PER_S = 5_000.0
_MOST = 0.02
_ONLY = "runtime=loop,strategy=nodelay", "runtime=asyncio,implementation=tinygram,strategy=adaptive"
_FIGURES = {None: ("throughput_per_s",), _PACED_PER_S: ("latency_p50_us", "latency_p99_us")}


def main() -> int:
    reached = []
    with cores_awake(), running(Stream(SEED)) as bench, os.fdopen(_terminal(), "w") as terminal:
        show_environment("cubic")
        for rate_per_s, names in _FIGURES.items():
            cases = [case for only in _ONLY for case in _cases(only, rate_per_s)]
            progress = Progress(10_000, stream=terminal)
            sides: dict[str, Callable[[], Sequence[Run]]] = {
                "watched": lambda: _run(bench, cases, progress),  # noqa: B023 - called at once
                "unwatched": lambda: _run(bench, cases, None),  # noqa: B023
            }
            with progress:
                found = side_by_side(sides, _PAIRS)
            for number, case in enumerate(cases):
                reached += [_told(case, name, number, found) for name in names]
    return 0 if all(reached) else 1


def _told(case: Case, name: str, number: int, found: dict[str, list[Sequence[Run]]]) -> bool:
    watched, unwatched = (
        [_middle(runs[number], name) for runs in found[side]] for side in ("watched", "unwatched")
    )
    ratio = figure_of([a / b for a, b in zip(watched, unwatched, strict=True)])
    return verdict(f"{case.case_id}, {name}: watched ÷ unwatched", _within(ratio), shown(ratio))


def _within(ratio: Figure) -> bool | None:
    """Whether the whole interval is near 1; None where a part of it is."""
    if ratio.low >= 1 - _MOST and ratio.high <= 1 + _MOST:
        return True
    return False if ratio.high < 1 - _MOST or ratio.low > 1 + _MOST else None


def _middle(run: Run, name: str) -> float:
    """The median over the slices of a run that must not have failed."""
    if run.failure is not None:
        raise SystemExit(f"{run.case_id} failed: {run.failure}")
    return median(value for value in run.slices[name] if value is not None)


def _run(bench: Bench, cases: Sequence[Case], progress: Progress | None) -> Sequence[Run]:
    bench.live.tell = None if progress is None else progress.goes_on
    if progress is not None:
        progress.cases_started(cases, 1, 1)
    return bench.run_cases(cases, 0)


def _terminal() -> int:
    """A terminal that somebody reads."""
    reader, terminal = pty.openpty()
    threading.Thread(target=_read_all, args=(reader,), daemon=True).start()
    return terminal


def _read_all(fd: int) -> None:
    with suppress(OSError):  # The terminal is closed.
        while os.read(fd, 1 << 16):
            pass


def _cases(only: str, rate_per_s: float | None) -> Sequence[Case]:
    options = replace(
        stream_options(only),
        message_bytes=MessageBytes(100, 100),
        rates_per_s=[] if rate_per_s is None else [rate_per_s],
        duration_ns=_OWN_NS,
        slice_ns=SLICE_NS,
    )
    return plan_stream(options).cases


if __name__ == "__main__":
    sys.exit(main())
