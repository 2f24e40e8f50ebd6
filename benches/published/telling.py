"""What a bench prints of its rows, and stores of them where it is asked to (`--into FILE`)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pairs import environment_words, verdict

from published.stored import Column, Row, measured, put


def take_into(parser: argparse.ArgumentParser) -> None:
    """Give a bench the option that stores its rows."""
    parser.add_argument(
        "--into",
        type=Path,
        metavar="FILE",
        help="put the rows into this file of results/published/rows; `make figures` then shows "
        "them in the documentation",
    )


def asked_into(doc: str | None) -> Path | None:
    """The file of a bench that has no other option."""
    parser = argparse.ArgumentParser(description=doc)
    take_into(parser)
    into: Path | None = parser.parse_args().into
    return into


def tell(row: Row, words: str) -> Row:
    """Print a row's verdict."""
    verdict(row.row, row.is_reached, words)
    return row


def store(
    into: Path | None,
    bench: str,
    name: str,
    first: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    congestion_control: str = "cubic",
    more: str = "",
) -> int:
    """Store all rows of a bench where that was asked; 0 where all are reached, else 1.

    `more`: what else the environment has that the figures depend on.
    """
    if into is not None:
        environment = environment_words(congestion_control) + (f"; {more}" if more else "")
        put(into, name, measured(f"python -m {bench}", environment, first, columns, rows))
    return 0 if all(row.is_reached is True for row in rows if row.asked is not None) else 1
