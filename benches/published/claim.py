"""What the pages of the claim found, which benches/claim made of its results: for other pages.

`results/published/claim-confirm.md` and `claim-links.md` are what is stored; figures that README
and docs/how-to/measure-over-a-network.md tell come from them. docs/claim.md is filled by the study.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from published.stored import ROOT

_COUNTED = re.compile(
    r"Of (\d+) cells `adaptive` held (\d+) \(\d+ of them by counts.*?\), lost (\d+)"
    r"(?: \(\d+ by counts\))?, and (\d+) are undecided"
)
_OWN = re.compile(r"^\| \*\*adaptive\*\* \| (\d+) of \d+ \|", re.MULTILINE)
_REGRET = re.compile(r"\| ([\d,.]+) %(?: by the estimate, .*?,)? against ([\d,.]+) % of ")


@dataclass(frozen=True)
class Found:
    """Cells counted, and two worst regrets in percent, as a page tells them.

    `own_worse`: in how many cells ours costs over 5 % more than the best one, by the estimate.
    """

    cells: int
    held: int
    lost: int
    undecided: int
    own_worse: int
    regret: str
    single_regret: str


def found_in(page: Path) -> Found:
    """Raises SystemExit where the page does not tell one of them."""
    text = page.read_text()
    matches = []
    for pattern in (_COUNTED, _OWN, _REGRET):
        match = pattern.search(text)
        if match is None:
            raise SystemExit(f"{page} tells nothing like {pattern.pattern!r}")
        matches.append(match)
    counted, own, regret = matches
    return Found(
        cells=int(counted[1]),
        held=int(counted[2]),
        lost=int(counted[3]),
        undecided=int(counted[4]),
        own_worse=int(own[1]),
        regret=regret[1],
        single_regret=regret[2],
    )


def loopback() -> Found:
    return found_in(ROOT / "results/published/claim-confirm.md")


def links() -> Found:
    return found_in(ROOT / "results/published/claim-links.md")
