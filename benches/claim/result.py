"""The result file of the claim: all runs, and what was judged from them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from claim.code import Code
from claim.grid import Cell, Set
from claim.judge import Floor, Verdict, floors_of, verdicts_of
from claim.regret import Regret, Worst, regrets_of, worst_of
from claim.runs import Measured
from claim.samples import FigureName, Samples, paired_ratios
from claim.signed_rank import ratio_of
from claim.yardstick import Yardstick, write_cost_ns, yardsticks_of
from tinygram.bench.result import Figure, Value

SCHEMA_VERSION = 1

Ending = Literal["all rounds", "time used", "out of time", "interrupted"]
"""`time used`: in the rounds that follow the first look; `out of time`: before it."""


class Warmth(Value, frozen=True):
    """A figure of a strategy run by processes that stay ÷ by fresh ones, over all rounds."""

    cell: int
    strategy: str
    figure: FigureName
    ratio: Figure


class Judged(Value, frozen=True):
    """All that the runs say."""

    floors: tuple[Floor, ...]
    verdicts: tuple[Verdict, ...]
    regrets: tuple[Regret, ...]
    worst: tuple[Worst, ...]
    yardsticks: tuple[Yardstick, ...]
    warmth: tuple[Warmth, ...]
    write_cost_ns: float | None


class ClaimResult(Value, frozen=True):
    """The whole file. `seconds`: how long it took."""

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
    judged: Judged
    runs: tuple[Measured, ...]

    @property
    def failures(self) -> list[Measured]:
        """The runs that failed."""
        return [run for run in self.runs if run.failure is not None]


def judge(cells: Sequence[Cell], runs: Sequence[Measured], seed: int) -> Judged:
    """Everything that is derived from the runs; `seed` is the set's."""
    samples = Samples.of(runs)
    regrets = regrets_of(cells, samples)
    return Judged(
        floors=floors_of(cells, samples),
        verdicts=verdicts_of(cells, samples),
        regrets=regrets,
        worst=worst_of(regrets),
        yardsticks=yardsticks_of(cells, samples, seed),
        warmth=_warmth_of(samples),
        write_cost_ns=write_cost_ns(cells, samples),
    )


def _warmth_of(samples: Samples) -> tuple[Warmth, ...]:
    found = []
    for number, strategy, variant in samples.runs:
        if variant != "cold":
            continue
        for figure in ("p50", "p99", "cpu"):
            name: FigureName = figure
            warm = samples.costs(number, strategy, name)
            cold = samples.costs(number, strategy, name, "cold")
            ratios = paired_ratios(warm, cold)
            if ratios:
                ratio = ratio_of(list(ratios.values()), 0.05)
                found.append(Warmth(number, strategy, name, ratio))
    return tuple(found)


def save(result: ClaimResult, path: Path) -> None:
    """Write it whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(msgspec.json.encode(result) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: Path) -> ClaimResult:
    """Read a result file; msgspec.DecodeError when it is none."""
    return msgspec.json.decode(path.read_bytes(), type=ClaimResult)
