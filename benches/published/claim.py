"""What the pages of the claim found, which benches/claim made of its results: for other pages.

`results/published/claim-confirm.md` and `claim-links.md` are what is stored. The marked parts of
docs/claim.md called `answer`, `confirmed`, `links`, `slices` and `slices-control` are filled by the
study.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from published.stored import ROOT

LOOPS = ("loop", "asyncio", "uvloop")

_COUNTED = re.compile(
    r"Of (\d+) cells `adaptive` held (\d+) \(\d+ of them by counts.*?\), lost (\d+)"
    r"(?: \(\d+ by counts\))?, and (\d+) are undecided"
)
_OWN = re.compile(r"^\| \*\*adaptive\*\* \| (\d+) of \d+ \|(.*) \|$", re.MULTILINE)
_REGRET = re.compile(r"\| ([\d,.]+) %(?: by the estimate, .*?,)? against ([\d,.]+) % of ")
_BEGUN = re.compile(r"begun (\d{4}-\d\d-\d\d)T")
_OF_RUNTIME = re.compile(
    r"^\| cells, (\w+) \| (\d+)(?: \(\d+\))? \| (\d+)(?: \(\d+\))? \| (\d+) \| (\d+) \(\d+\) \|$",
    re.MULTILINE,
)
_ANSWER = re.compile(r"^\*\*The claim (holds|does not hold)\*\*", re.MULTILINE)
_LOST = re.compile(
    r"^\| ((?:loop|asyncio|uvloop|threads), [^|]+) \| ([\d.]+ \([^|]+) \| (\S+) \|", re.MULTILINE
)


@dataclass(frozen=True)
class Counted:
    """Cells of a runtime, or of several.

    `worse`: those that cost over 10 % more than the best fixed strategy, by the estimate. `regret`:
    how much more the worst one costs, by the estimate, in percent.
    """

    held: int
    lost: int
    undecided: int
    worse: int
    regret: float

    @property
    def cells(self) -> int:
        return self.held + self.lost + self.undecided

    def words(self) -> str:
        """Such as `147 held, 3 lost, 3 undecided`."""
        return f"{self.held} held, {self.lost or 'none'} lost, {self.undecided} undecided"


@dataclass(frozen=True)
class Lost:
    """A lost cell, the cost of `adaptive` ÷ the winner's as the page has it, and the winner."""

    cell: str
    ratio: str
    winner: str


@dataclass(frozen=True)
class Found:
    """Cells counted, and two worst regrets in percent, as a page tells them.

    `answer`: `holds` or `does not hold`. `own_worse`: in how many cells ours costs over 5 % more
    than the best one, by the estimate. `lost_cells`: the largest loss first.
    """

    on: date
    answer: str
    cells: int
    held: int
    lost: int
    undecided: int
    own_worse: int
    regret: str
    single_regret: str
    runtimes: Mapping[str, Counted]
    lost_cells: list[Lost]

    def lost_to(self, winner: str, runtime: str) -> int:
        """How many cells of a runtime are lost to a strategy."""
        return sum(
            each.winner == winner and each.cell.startswith(f"{runtime}, ")
            for each in self.lost_cells
        )

    def of(self, runtimes: Iterable[str]) -> Counted:
        """The cells of these runtimes together."""
        counted = [self.runtimes[name] for name in runtimes]
        return Counted(
            held=sum(each.held for each in counted),
            lost=sum(each.lost for each in counted),
            undecided=sum(each.undecided for each in counted),
            worse=sum(each.worse for each in counted),
            regret=max(each.regret for each in counted),
        )


def found_in(page: Path) -> Found:
    """Raises SystemExit where the page does not tell one of them, or tells sums that differ."""
    text = page.read_text()
    matches = []
    for pattern in (_COUNTED, _OWN, _REGRET, _BEGUN, _ANSWER):
        match = pattern.search(text)
        if match is None:
            raise SystemExit(f"{page} tells nothing like {pattern.pattern!r}")
        matches.append(match)
    counted, own, regret, begun, answer = matches
    found = Found(
        on=date.fromisoformat(begun[1]),
        answer=answer[1],
        cells=int(counted[1]),
        held=int(counted[2]),
        lost=int(counted[3]),
        undecided=int(counted[4]),
        own_worse=int(own[1]),
        regret=regret[1],
        single_regret=regret[2],
        runtimes=_by_runtime(text, own[2]),
        lost_cells=[Lost(*each) for each in _LOST.findall(text)],
    )
    together = found.of(found.runtimes)
    told = (found.held, found.lost, found.undecided, found.lost)
    if (together.held, together.lost, together.undecided, len(found.lost_cells)) != told:
        raise SystemExit(f"{page} tells other sums than its tables have")
    return found


def _by_runtime(text: str, own: str) -> dict[str, Counted]:
    """`own`: the cells of the row of `adaptive`, of which the last are the regrets by runtime."""
    rows = _OF_RUNTIME.findall(text)
    regrets = re.findall(r"([\d,.]+) %", own)[-len(rows) :]
    if not rows or len(rows) != len(regrets):
        raise SystemExit(f"{len(rows)} runtimes have counts of cells, and {len(regrets)} regrets")
    return {
        name: Counted(
            int(held), int(lost), int(undecided), int(worse), float(regret.replace(",", ""))
        )
        for (name, held, lost, undecided, worse), regret in zip(rows, regrets, strict=True)
    }


def loopback() -> Found:
    return found_in(ROOT / "results/published/claim-confirm.md")


def links() -> Found:
    return found_in(ROOT / "results/published/claim-links.md")
