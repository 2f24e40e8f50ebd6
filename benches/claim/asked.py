"""What is asked for on the command line, and which cells that names."""

from __future__ import annotations

import argparse
from pathlib import Path

from published.claim import found_in

from claim.grid import GRIDS, RUNTIMES, SETS, Cell
from claim.judging.compare import LOOKS
from tinygram_bench.model.errors import UsageError

ONCE = ("confirm", "slices")
"""The sets that are not looked at before the code is as it will be: each once in the same cells and
slices.
"""
_MOST_SLICE_MS = 1_000
"""Slices of a round have to end long before the time that the bench gives a run."""


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m claim", description=description)
    parser.add_argument("--set", choices=SETS, default="tuning", help="seeds and sizes")
    parser.add_argument("--grid", choices=GRIDS, default="full", help="which cells")
    parser.add_argument("--minutes", type=float, help="it ends then at the latest")
    parser.add_argument("--rounds", type=int, default=LOOKS[-1], help="of a cell at most")
    parser.add_argument("--runtime", action="append", choices=RUNTIMES, help="only these")
    parser.add_argument("--only", default="", help="cells that have this text in their name")
    parser.add_argument(
        "--lost-in", type=_lost_in, metavar="PAGE", help="cells that are lost on this page"
    )
    parser.add_argument(
        "--slice-ms", type=_slice_ms, help="the shortest slice, if that is longer than the grid's"
    )
    once_more = f"measure {' or '.join(ONCE)} once more"
    parser.add_argument("--again", action="store_true", help=once_more)
    parser.add_argument("--out", type=Path, help="the result file")
    parser.add_argument("--page", type=Path, help="write this page, and its picture beside it")
    parser.add_argument("--report", type=Path, help="measure nothing: read this result file")
    parser.add_argument(
        "--into", type=Path, help="with --report: the page that sums up, docs/claim.md"
    )
    return parser


def cells_of(asked: argparse.Namespace) -> list[Cell]:
    """The cells to be measured. Raises UsageError where there is none, or not all that are named.

    It does, too, where no slice would be longer than without `--slice-ms`.
    """
    runtimes = asked.runtime or RUNTIMES
    cells = GRIDS[asked.grid](SETS[asked.set])
    if asked.lost_in is not None:
        strange = sorted(asked.lost_in - {cell.name for cell in cells})
        if strange:
            raise UsageError(
                f"--lost-in: grid {asked.grid!r} of set {asked.set!r} has no cell {strange[0]!r}"
            )
        cells = [cell for cell in cells if cell.name in asked.lost_in]
    cells = [cell for cell in cells if cell.runtime in runtimes and asked.only in cell.name]
    if not cells:
        raise UsageError(
            f"grid {asked.grid!r} of set {asked.set!r} has no cell for {_choice(asked)}"
        )
    if asked.slice_ms and all(cell.slices(asked.slice_ms) == cell.slices(None) for cell in cells):
        raise UsageError(f"--slice-ms {asked.slice_ms}: no slice is shorter without it")
    return cells


def _choice(asked: argparse.Namespace) -> str:
    """The options that choose cells, as they were given."""
    given = []
    if asked.lost_in is not None:
        given.append("--lost-in")
    if asked.runtime:
        given.append(f"--runtime {' or '.join(asked.runtime)}")
    if asked.only:
        given.append(f"--only {asked.only!r}")
    return " with ".join(given)


def _lost_in(page: str) -> frozenset[str]:
    """The names of the cells that a page of the claim has as lost."""
    try:
        lost = found_in(Path(page)).lost_cells
    except (OSError, ValueError, SystemExit) as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not lost:
        raise argparse.ArgumentTypeError(f"no cell is lost on {page}")
    return frozenset(each.cell for each in lost)


def _slice_ms(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_SLICE_MS:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 1 to {_MOST_SLICE_MS:,}")
    return int(text)
