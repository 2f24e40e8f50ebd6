"""Tables as values: what is shown, apart from how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RowKind = Literal["plain", "best", "limit", "absent"]


@dataclass(frozen=True)
class Column:
    """A header (lines split by a newline) and how soon it gives way where width is short.

    `give_way` 0: never; else the column with the highest number goes first.
    """

    header: str
    give_way: int = 0

    @property
    def name(self) -> str:
        """The header on one line."""
        return self.header.replace("\n", " ").strip()


@dataclass(frozen=True)
class Row:
    """A cell per column."""

    cells: tuple[str, ...]
    kind: RowKind = "plain"


@dataclass(frozen=True)
class Table:
    """A titled table; `notes` explain the signs in its cells."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def widths(self) -> tuple[int, ...]:
        """How many characters each column needs."""
        return tuple(
            max(len(line) for line in (*column.header.split("\n"), *cells))
            for column, cells in zip(self.columns, self._cells_by_column(), strict=True)
        )

    def without(self, index: int) -> Table:
        """The same table without one column."""

        def rest(cells: tuple[str, ...]) -> tuple[str, ...]:
            return cells[:index] + cells[index + 1 :]

        columns = self.columns[:index] + self.columns[index + 1 :]
        rows = tuple(Row(rest(row.cells), row.kind) for row in self.rows)
        return Table(self.title, columns, rows, self.notes)

    def _cells_by_column(self) -> list[list[str]]:
        return [[row.cells[at] for row in self.rows] for at in range(len(self.columns))]


def fitted(table: Table, width: int, gap: int) -> Table:
    """The table without the columns that `width` characters cannot hold, which its notes name."""
    left_out: list[str] = []
    while sum(table.widths) + gap * (len(table.columns) - 1) > width:
        index = max(range(len(table.columns)), key=lambda at: table.columns[at].give_way)
        if not table.columns[index].give_way:
            break
        left_out.append(table.columns[index].name)
        table = table.without(index)
    if not left_out:
        return table
    note = f"left out in {width} columns: {', '.join(left_out)}"
    return Table(table.title, table.columns, table.rows, (*table.notes, note))
