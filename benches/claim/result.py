"""A result file of the bench, read as one of the claim: its runs, and what is judged from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from claim.code import Code, judge_sha256
from claim.grid import GRIDS, RUNTIMES, Cell, Set
from claim.judging.chance import Chance, chances_of
from claim.judging.compare import LOOKS
from claim.judging.judge import Verdict, verdicts_of
from claim.judging.regret import (
    Regret,
    Standing,
    Worst,
    regrets_of,
    standings_of,
    worst_of,
)
from claim.judging.samples import FIGURES, Samples, figures_of
from claim.others import Others
from claim.planned import PlannedRun
from claim.runs import FigureName, Measured
from claim.study import measured_of
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Case, Result
from tinygram_bench.model.value import Value


class Judged(Value, frozen=True):
    """All that the runs say."""

    verdicts: tuple[Verdict, ...]
    regrets: tuple[Regret, ...]
    standings: tuple[Standing, ...]
    worst: tuple[Worst, ...]
    chances: tuple[Chance, ...]


class About(Value, frozen=True):
    """What the bench's result file keeps for the study, as `study` of its environment.

    `earlier`: results of the same set, cells and slices before it (`earlier_of`). `others`: what
    others had of the cores' time until the last round; null: not known. `slice_ms`: the least
    length of a slice; null: the grid's.
    """

    name: str
    grid: str
    set: Set
    code: Code
    earlier: tuple[str, ...] = ()
    others: Others | None = None
    slice_ms: int | None = None


@dataclass(frozen=True)
class ClaimResult:
    """What a result file of the bench says of the claim.

    `cases`: the strategies of the cells, as they were measured. `is_early`: whether it lacks rounds
    before the first look. `judged_by`: the hash of the code that judged now, which need not be that
    of the measurement (`Code.judge_sha256`). `slice_ms`: the least length of a slice that was asked
    for; None: the grid's, by which alone the claim is judged.
    """

    grid: str
    set: Set
    cells: tuple[Cell, ...]
    cases: tuple[Case, ...]
    code: Code
    environment: dict[str, Any]
    started_at: str
    is_early: bool
    earlier: tuple[str, ...]
    judged: Judged
    judged_by: str
    runs: tuple[Measured, ...]
    others: Others | None = None
    slice_ms: int | None = None

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
    runs = tuple(measured_of(cells, planned, result.runs))
    done = {(run.run.cell, run.round) for run in runs}
    first = range(1, min(LOOKS[0], result.plan.rounds) + 1)
    return ClaimResult(
        grid=about.grid,
        set=about.set,
        cells=cells,
        cases=result.plan.cases,
        code=about.code,
        environment=result.environment,
        started_at=result.started_at or "",
        is_early=not done.issuperset(product(range(len(cells)), first)),
        earlier=about.earlier,
        judged=judge(cells, runs),
        judged_by=judge_sha256(),
        runs=runs,
        others=about.others,
        slice_ms=about.slice_ms,
    )


def judge(cells: Sequence[Cell], runs: Sequence[Measured]) -> Judged:
    """Everything that is derived from the runs."""
    samples = Samples.of(runs)
    regrets = regrets_of(cells, samples)
    return Judged(
        verdicts=verdicts_of(cells, samples),
        regrets=regrets,
        standings=standings_of(regrets),
        worst=worst_of(cells, regrets),
        chances=chances_of(cells, samples),
    )


def measured_cells(result: ClaimResult) -> int:
    """How many cells have a verdict on the figure that decides them."""
    return sum(each.is_deciding for each in result.judged.verdicts)


def whole_grid(result: ClaimResult) -> list[Cell]:
    """The cells that the claim is about, on loopback or over links, whatever part was measured."""
    return GRIDS["links" if result.grid == "links" else "full"](result.set)


def is_whole(result: ClaimResult) -> bool:
    """Whether the whole grid was measured in its slices, as far as the first look at least."""
    is_full = result.slice_ms is None and set(result.cells) == set(whole_grid(result))
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


def earlier_of(sizes: Set, grid: str, slice_ms: int | None, folder: Path) -> tuple[str, ...]:
    """The results in a folder of a set in such slices, in words, the oldest first.

    Only those count whose grid has a cell of this one.
    """
    cells = set(GRIDS[grid](sizes))
    found = []
    for path in folder.glob("*.json"):
        try:
            header = msgspec.json.decode(path.read_bytes(), type=_Header)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # Another kind of result, or one of another version.
        study = header.environment.study
        if (study.set, study.slice_ms) != (sizes, slice_ms) or study.grid not in GRIDS:
            continue
        if not cells.isdisjoint(GRIDS[study.grid](sizes)):
            slices = "" if slice_ms is None else f", slices of {slice_ms} ms"
            sources = study.code.sources_sha256[:12]
            found.append(f"{header.started_at}, grid {study.grid}{slices}, sources {sources}")
    return tuple(sorted(found))
