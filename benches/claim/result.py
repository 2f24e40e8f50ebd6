"""A result file of the bench, read as one of the claim: its runs, and what is judged from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from claim.code import Code, judge_sha256
from claim.grid import GRIDS, RUNTIMES, Cell, Set
from claim.judging.calibration import (
    Calibration,
    Warmth,
    Weighed,
    calibrations_of,
    warmth_of,
    weighed_of,
)
from claim.judging.compare import LOOKS
from claim.judging.judge import Verdict, verdicts_of
from claim.judging.margins import Floor, floors_of
from claim.judging.picks import BESIDE, READINGS, Reading
from claim.judging.regret import Regret, Worst, regrets_of, worst_of
from claim.judging.samples import FIGURES, FigureName, Samples, figures_of
from claim.judging.tails import Tail, tails_of
from claim.judging.yardstick import Yardstick, write_cost_ns, yardsticks_of
from claim.plan import PlannedRun
from claim.runs import Measured
from claim.study import measured_of
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Result
from tinygram_bench.model.value import Value


class Judged(Value, frozen=True):
    """All that the runs say."""

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


class About(Value, frozen=True):
    """What the bench's result file keeps for the study, as `study` of its environment.

    `earlier`: results of the same set before it.
    """

    name: str
    grid: str
    set: Set
    code: Code
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClaimResult:
    """What a result file of the bench says of the claim.

    `is_early`: whether it lacks runs of the rounds before the first look. `judged_by`: the hash of
    the code that judged now, which need not be that of the measurement (`Code.judge_sha256`).
    """

    grid: str
    set: Set
    cells: tuple[Cell, ...]
    code: Code
    environment: dict[str, Any]
    started_at: str
    is_early: bool
    earlier: tuple[str, ...]
    judged: Judged
    judged_by: str
    runs: tuple[Measured, ...]

    @property
    def failures(self) -> list[Measured]:
        """The runs that failed."""
        return [run for run in self.runs if run.failure is not None]


def claim_of(result: Result) -> ClaimResult:
    """Judge the runs. Raises UsageError where the result is not one of the claim."""
    try:
        about = msgspec.convert(result.environment.get("study"), About)
    except msgspec.ValidationError as error:
        raise UsageError(f"this result is not one of the claim: {error}") from error
    cells = tuple(dict.fromkeys(map(Cell.of, result.plan.cases)))
    planned = {case.case_id: PlannedRun.of(case, cells) for case in result.plan.cases}
    runs = tuple(measured_of(planned, result.runs))
    done = {(run.case_id, run.round) for run in result.runs}
    first = range(min(LOOKS[0], result.plan.rounds))
    warm = [name for name, run in planned.items() if run.variant == "warm"]
    return ClaimResult(
        grid=about.grid,
        set=about.set,
        cells=cells,
        code=about.code,
        environment=result.environment,
        started_at=result.started_at or "",
        is_early=not done.issuperset((name, round) for name in warm for round in first),
        earlier=about.earlier,
        judged=judge(cells, runs, about.set.seed),
        judged_by=judge_sha256(),
        runs=runs,
    )


def judge(cells: Sequence[Cell], runs: Sequence[Measured], seed: int) -> Judged:
    """Everything that is derived from the runs; `seed` is the set's."""
    samples = Samples.of(runs)
    verdicts = {reading: verdicts_of(cells, samples, reading) for reading in READINGS}
    regrets = regrets_of(cells, samples)
    return Judged(
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
    is_full = set(result.cells) == set(whole_grid(result))
    return not result.is_early and is_full and measured_cells(result) == len(result.cells)


def figures_in(result: ClaimResult) -> list[FigureName]:
    """The figures that the grid has, in the order of the tables."""
    there = {figure for cell in result.cells for figure in figures_of(cell)}
    return [figure for figure in FIGURES if figure in there]


def runtimes_of(result: ClaimResult) -> list[str]:
    """Those that were measured, in the usual order."""
    there = {cell.runtime for cell in result.cells}
    return [runtime for runtime in RUNTIMES if runtime in there]


class _Environment(msgspec.Struct):
    study: About


class _Header(msgspec.Struct):
    """What tells one result from another."""

    environment: _Environment
    started_at: str


def earlier_of(sizes: Set, folder: Path) -> tuple[str, ...]:
    """The results of a set that lie in a folder, in words, the oldest first."""
    found = []
    for path in folder.glob("*.json"):
        try:
            header = msgspec.json.decode(path.read_bytes(), type=_Header)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # Another kind of result, or one of another version.
        study = header.environment.study
        if study.set == sizes:
            sources = study.code.sources_sha256[:12]
            found.append(f"{header.started_at}, grid {study.grid}, sources {sources}")
    return tuple(sorted(found))
