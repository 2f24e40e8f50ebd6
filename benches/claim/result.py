"""The result file of the claim: all runs, and what was judged from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from claim.calibration import Calibration, calibrations_of
from claim.code import Code, judge_sha256
from claim.grid import GRIDS, RUNTIMES, Cell, Set
from claim.judge import Verdict, verdicts_of
from claim.margins import Floor, floors_of
from claim.picks import BESIDE, READINGS, Reading
from claim.regret import Regret, Worst, regrets_of, worst_of
from claim.runs import Measured
from claim.samples import FIGURES, FigureName, Samples, figures_of
from claim.tails import Tail, tails_of
from claim.warmth import Warmth, warmth_of
from claim.weights import Weighed, weighed_of
from claim.yardstick import Yardstick, write_cost_ns, yardsticks_of
from tinygram_bench.model.store import replace
from tinygram_bench.model.value import Value

SCHEMA_VERSION = 2

Ending = Literal["all rounds", "time used", "out of time", "interrupted"]
"""`time used`: in the rounds that follow the first look; `out of time`: before it."""


class Judged(Value, frozen=True):
    """All that the runs say. `judged_by`: the hash of the code that did (`Code.judge_sha256`)."""

    judged_by: str
    floors: tuple[Floor, ...]
    verdicts: dict[Reading, tuple[Verdict, ...]]
    calibrations: tuple[Calibration, ...]
    weighed: tuple[Weighed, ...]
    regrets: tuple[Regret, ...]
    worst: tuple[Worst, ...]
    tails: tuple[Tail, ...]
    yardsticks: tuple[Yardstick, ...]
    warmth: tuple[Warmth, ...]
    write_cost_ns: float | None


class ClaimResult(Value, frozen=True):
    """The whole file. `seconds`: how long it took. `earlier`: results of the same set before it."""

    schema_version: int
    grid: str
    set: Set
    cells: tuple[Cell, ...]
    code: Code
    environment: dict[str, Any]
    command: tuple[str, ...]
    started_utc: str
    seconds: float
    ending: Ending
    earlier: tuple[str, ...]
    judged: Judged
    runs: tuple[Measured, ...]

    @property
    def failures(self) -> list[Measured]:
        """The runs that failed."""
        return [run for run in self.runs if run.failure is not None]


def judge(cells: Sequence[Cell], runs: Sequence[Measured], seed: int) -> Judged:
    """Everything that is derived from the runs; `seed` is the set's."""
    samples = Samples.of(runs)
    verdicts = {reading: verdicts_of(cells, samples, reading) for reading in READINGS}
    regrets = regrets_of(cells, samples)
    return Judged(
        judged_by=judge_sha256(),
        floors=floors_of(cells, samples),
        verdicts=verdicts,
        calibrations=calibrations_of(cells, samples),
        weighed=weighed_of(cells, samples),
        regrets=regrets,
        worst=worst_of(cells, regrets),
        tails=tails_of(samples, verdicts[BESIDE]),
        yardsticks=yardsticks_of(cells, samples, seed),
        warmth=warmth_of(samples),
        write_cost_ns=write_cost_ns(cells, samples),
    )


def measured_cells(result: ClaimResult) -> int:
    """How many cells have a verdict on each of their figures."""
    there = {(verdict.cell, verdict.figure) for verdict in result.judged.verdicts[BESIDE]}
    return sum(
        all((number, figure) in there for figure in figures_of(cell))
        for number, cell in enumerate(result.cells)
    )


def whole_grid(result: ClaimResult) -> list[Cell]:
    """The cells that the claim is about, on loopback or over links, whatever part was measured."""
    return GRIDS["links" if result.grid == "links" else "full"](result.set)


def is_whole(result: ClaimResult) -> bool:
    """Whether the whole grid was measured, as far as the first look at least."""
    is_late = result.ending in ("all rounds", "time used")
    is_full = set(result.cells) == set(whole_grid(result))
    return is_late and is_full and measured_cells(result) == len(result.cells)


def figures_in(result: ClaimResult) -> list[FigureName]:
    """The figures that the grid has, in the order of the tables."""
    there = {figure for cell in result.cells for figure in figures_of(cell)}
    return [figure for figure in FIGURES if figure in there]


def runtimes_of(result: ClaimResult) -> list[str]:
    """Those that were measured, in the usual order."""
    there = {cell.runtime for cell in result.cells}
    return [runtime for runtime in RUNTIMES if runtime in there]


def save(result: ClaimResult, path: Path) -> None:
    """Write it whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, msgspec.json.encode(result) + b"\n")


def load(path: Path) -> ClaimResult:
    """Read a result file; msgspec.DecodeError when it is none."""
    return msgspec.json.decode(path.read_bytes(), type=ClaimResult)


class _Header(msgspec.Struct):
    """What tells one result from another."""

    grid: str
    set: Set
    started_utc: str
    code: Code


def earlier_of(sizes: Set, folder: Path) -> tuple[str, ...]:
    """The results of a set that lie in a folder, in words, the oldest first."""
    found = []
    for path in folder.glob("*.json"):
        try:
            header = msgspec.json.decode(path.read_bytes(), type=_Header)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # Another kind of result, or one of another version.
        if header.set == sizes:
            sources = header.code.sources_sha256[:12]
            found.append(f"{header.started_utc} UTC, grid {header.grid}, sources {sources}")
    return tuple(sorted(found))
