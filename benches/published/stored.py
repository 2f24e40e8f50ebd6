"""The rows of benches as files: results/published/rows/PAGE.json has every table of a page."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import msgspec

from tinygram_bench.model import result

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "results/published/rows"
SCHEMA = 1
SENTENCES = "sentences"
"""How the names of tables begin that have the figures of a page's sentences; each row names its
section, and a section is in one of them."""


class Figure(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A value, with its interval where it has one.

    `is_shown`: it is shown to differ from what it is compared with; `is_doubtful`: there is no
    verdict on it, or none on its size. `decimals`: to be shown, in place of its column's.
    """

    median: float
    low: float | None = None
    high: float | None = None
    unit: str = ""
    decimals: int | None = None
    is_shown: bool = False
    is_doubtful: bool = False


Cell = str | float | Figure | list[str | float | Figure] | None
"""Words, a figure, or several that are told together, the first named of a row first."""


class Asked(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What was aimed at before anything was measured; None: there is no such bound."""

    at_least: float | None = None
    at_most: float | None = None
    unit: str = ""


class Row(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A row; `is_reached` None: it cannot be said, or nothing was asked."""

    row: str
    figures: dict[str, Cell]
    asked: Asked | None = None
    is_reached: bool | None = None


class Column(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A column of figures. Without `decimals` a number has four significant digits.

    `between`: the words between several figures of a cell.
    """

    title: str
    figure: str
    decimals: int | None = None
    between: str = " and "
    is_text: bool = False


class Table(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one bench told.

    `first`: the title of the rows. `taken_from`: the page and commit that its rows were copied
    from, where the bench did not write them itself. `on`, `commit`: when, and of which code; None
    where nobody wrote it down.
    """

    bench: str
    environment: str
    on: date
    first: str
    columns: list[Column]
    rows: list[Row]
    commit: str | None = None
    taken_from: str | None = None


class Stored(msgspec.Struct, forbid_unknown_fields=True):
    """The tables of a page, by the names of their marks there."""

    schema: int
    tables: dict[str, Table]


def read(path: Path) -> Stored:
    """Raises SystemExit where the file has another schema."""
    stored = msgspec.json.decode(path.read_bytes(), type=Stored)
    if stored.schema != SCHEMA:
        raise SystemExit(f"{path} has schema {stored.schema}; this code reads {SCHEMA}")
    return stored


def put(path: Path, name: str, table: Table) -> None:
    """Put a table into a page's file, in the place of the one of that name."""
    stored = read(path) if path.exists() else Stored(SCHEMA, {})
    stored.tables[name] = table
    plain = msgspec.to_builtins(stored)
    path.write_text(json.dumps(plain, ensure_ascii=False, indent=1) + "\n")


def figure(found: result.Figure, unit: str = "", decimals: int | None = None) -> Figure:
    """A median with its interval, as the bench has it."""
    return Figure(found.median, found.low, found.high, unit, decimals)


def measured(
    bench: str, environment: str, first: str, columns: Sequence[Column], rows: Sequence[Row]
) -> Table:
    """A table of what was just measured, by the code that is checked out."""
    return Table(bench, environment, date.today(), first, [*columns], [*rows], _commit())


def _commit() -> str | None:
    """None where this is no checkout; it ends in + where the code differs from the commit."""
    told = subprocess.run(
        ["git", "describe", "--always", "--exclude=*", "--dirty=+"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() or None
