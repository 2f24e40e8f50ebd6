"""What the pages of the claim found, which benches/claim made of its results: for other pages.

`results/published/claim-confirm.md` and `claim-links.md` are what is stored; figures that README
and docs/how-to/measure-over-a-network.md tell come from them. docs/claim.md is filled by the study.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from published.stored import ROOT

_COUNTED = re.compile(
    r"Of (\d+) cells `adaptive` held (\d+) \((\d+) of them by counts.*?\), lost (\d+)"
    r"(?: \(\d+ by counts\))?, and (\d+) are undecided"
)
_SINGLE = re.compile(r"does best with (.*?), which costs over 5 % more .*? in (\d+) of")
_OWN = re.compile(r"^\| \*\*adaptive\*\* \| (\d+) of \d+ \| (\d+) \|", re.MULTILINE)
_REGRET = re.compile(r"\| ([\d,.]+) %(?: by the estimate, .*?,)? against ([\d,.]+) % of ")
_BEGUN = re.compile(r"begun\s+(\d{4}-\d\d-\d\d)T")


@dataclass(frozen=True)
class Found:
    """Cells counted, and two worst regrets in percent, as a page tells them.

    `single`: the fixed strategy that does best everywhere; it and ours cost over 5 % more than the
    best one in `single_worse` and `own_worse` cells, ours over 10 % more in `own_much_worse`.
    """

    page: str
    on: date
    cells: int
    held: int
    by_counts: int
    lost: int
    undecided: int
    single: str
    single_worse: int
    own_worse: int
    own_much_worse: int
    regret: str
    single_regret: str


def found_in(page: Path) -> Found:
    """Raises SystemExit where the page does not tell one of them."""
    text = page.read_text()
    matches = []
    for pattern in (_COUNTED, _SINGLE, _OWN, _REGRET, _BEGUN):
        match = pattern.search(text)
        if match is None:
            raise SystemExit(f"{page} tells nothing like {pattern.pattern!r}")
        matches.append(match)
    counted, single, own, regret, begun = matches
    return Found(
        page=page.name,
        on=date.fromisoformat(begun[1]),
        cells=int(counted[1]),
        held=int(counted[2]),
        by_counts=int(counted[3]),
        lost=int(counted[4]),
        undecided=int(counted[5]),
        single=single[1],
        single_worse=int(single[2]),
        own_worse=int(own[1]),
        own_much_worse=int(own[2]),
        regret=regret[1],
        single_regret=regret[2],
    )


def loopback() -> Found:
    return found_in(ROOT / "results/published/claim-confirm.md")


def links() -> Found:
    return found_in(ROOT / "results/published/claim-links.md")
