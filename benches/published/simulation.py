"""What the pages that crates/simulation made have found: for README and docs/claim.md.

`results/published/simulation.md` and `simulation-confirm.md` are what is stored. The means there
have three decimals, so that one over both pages may be off by 0.05 %.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from published.stored import ROOT, Cell, Column, Row
from published.tables import lines_of

LOOPS = "Loops, on loopback and over links"
COMPUTING = "Programs that compute 5, 20 or 60 µs before each message"
"""Headings of the pages."""

_PAGES = ("results/published/simulation.md", "results/published/simulation-confirm.md")
_LOAD = re.compile(r"^(Paced|Flat out): (\d+) cells", re.MULTILINE)
_COST = re.compile(
    r"^\| (?P<strategy>[\w:]+) \| (?P<worst>[\d.]+) \| (?P<mean>[\d.]+) "
    r"\| \d+ \| (?P<above>\d+) \|",
    re.MULTILINE,
)
_HOST = re.compile(r"^\| ([^|]+) \| [\d.]+ \| [\d.]+ \| \d+ of \d+ \|", re.MULTILINE)
_COLUMNS = (
    Column("hosts", "hosts", 0),
    Column("cells", "cells", 0),
    Column("`adaptive` on average", "mean", 1),
    Column("in the worst", "worst", 0),
    Column("over 10 % in", "above", 0),
    Column("`tick`, of threads `combine`, on average", "fixed_mean", 1),
    Column("in the worst", "fixed_worst", 0),
    Column("over 10 % in", "fixed_above", 0),
)


@dataclass(frozen=True)
class Cost:
    """What a strategy costs more than the best fixed one of each cell, in percent of that.

    `cells_above_10`: in how many cells it is more than 10 %.
    """

    mean: float
    worst: float
    cells_above_10: int


@dataclass(frozen=True)
class Cells:
    """The cells of a heading that are paced, or flat out, and what strategies cost there."""

    number: int
    hosts: frozenset[str]
    costs: Mapping[str, Cost]

    def with_those_of(self, other: Cells) -> Cells:
        """These cells and those of another page together."""
        number = self.number + other.number
        costs = {}
        for strategy, one in self.costs.items():
            another = other.costs[strategy]
            costs[strategy] = Cost(
                (one.mean * self.number + another.mean * other.number) / number,
                max(one.worst, another.worst),
                one.cells_above_10 + another.cells_above_10,
            )
        return Cells(number, self.hosts | other.hosts, costs)


Found = dict[tuple[str, str], Cells]
"""A heading, and `Paced` or `Flat out` → its cells."""


def found() -> Found:
    """What both pages have under each heading, together."""
    together: Found = {}
    for page in _PAGES:
        for name, cells in found_in((ROOT / page).read_text()).items():
            together[name] = together[name].with_those_of(cells) if name in together else cells
    return together


def found_in(page: str) -> Found:
    """What one page has. Raises SystemExit where its tables are not of this form."""
    cells: Found = {}
    for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        heading = part.partition("\n")[0]
        _, *loads = _LOAD.split(part)
        for load, number, text in zip(loads[::3], loads[1::3], loads[2::3], strict=True):
            costs = {row["strategy"]: _cost(row) for row in _COST.finditer(text)}
            cells[heading, load] = Cells(int(number), frozenset(_HOST.findall(text)), costs)
    if any("adaptive" not in each.costs or not each.hosts for each in cells.values()) or not cells:
        raise SystemExit("a page of the simulation has not what strategies cost, and on which host")
    return cells


def table() -> str:
    """Each heading's cells, and what they cost `adaptive` and the fixed strategy most like it."""
    rows = []
    for (heading, load), each in found().items():
        ours = each.costs["adaptive"]
        fixed = each.costs["tick"] if "tick" in each.costs else each.costs["combine"]
        figures: dict[str, Cell] = {
            "hosts": len(each.hosts),
            "cells": each.number,
            "mean": ours.mean,
            "worst": ours.worst,
            "above": ours.cells_above_10,
            "fixed_mean": fixed.mean,
            "fixed_worst": fixed.worst,
            "fixed_above": fixed.cells_above_10,
        }
        rows.append(Row(f"{heading}, {load.lower()}", figures))
    return lines_of("more than the best fixed strategy of a cell, in %", _COLUMNS, rows)


def _cost(row: re.Match[str]) -> Cost:
    mean, worst = (100 * (float(row[name]) - 1) for name in ("mean", "worst"))
    return Cost(mean, worst, int(row["above"]))
