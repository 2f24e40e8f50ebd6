"""Tables as values, and how a console draws them.

On a terminal they are in colour; elsewhere in plain ASCII lines, which are never wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from msgspec import Struct

from tinygram_bench.model.plain_text import LINES, as_ascii, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

RowKind = Literal["plain", "best", "limit", "absent"]
STYLES: dict[RowKind, str] = {
    "plain": "",
    "best": "bold green",
    "limit": "italic dim",
    "absent": "dim",
}
WIDE_GAP = 2
NARROW_GAP = 1
T = TypeVar("T")


class Column(Struct, frozen=True):
    """A header (lines split by a newline) and how soon it gives way where width is short.

    `give_way` 0: never; otherwise the column with the highest number goes first.
    """

    header: str
    give_way: int = 0

    @property
    def name(self) -> str:
        return self.header.replace("\n", " ").strip()


class Shown(Struct, Generic[T], frozen=True):
    """A column, and how its cell is made of a row's value; `figure`: the figure that it shows."""

    column: Column
    text: Callable[[T], str]
    figure: str = ""


class Row(Struct, frozen=True):
    cells: tuple[str, ...]
    kind: RowKind = "plain"


class Table(Struct, frozen=True):
    """A titled table; `notes` explain the signs in its cells."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(
            max(len(line) for line in (*column.header.split("\n"), *cells))
            for column, cells in zip(self.columns, self._cells_by_column(), strict=True)
        )

    def without(self, index: int) -> Table:
        def rest(cells: tuple[str, ...]) -> tuple[str, ...]:
            return cells[:index] + cells[index + 1 :]

        columns = self.columns[:index] + self.columns[index + 1 :]
        rows = tuple(Row(rest(row.cells), row.kind) for row in self.rows)
        return Table(self.title, columns, rows, self.notes)

    def _cells_by_column(self) -> list[list[str]]:
        return [[row.cells[at] for row in self.rows] for at in range(len(self.columns))]


def table_of(
    title: str, shown: Sequence[Shown[T]], values: Iterable[T], notes: tuple[str, ...] = ()
) -> Table:
    rows = tuple(Row(tuple(each.text(value) for each in shown)) for value in values)
    return Table(title, tuple(each.column for each in shown), rows, notes)


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


class Pen:
    """Writes headings, tables and lists on one console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_file = not console.is_terminal
        self._is_ascii = self._is_file or console.options.ascii_only

    def write(self, text: str, style: str = "") -> None:
        self._print(_text(self._readable(text), style=style))

    def head(self, text: str) -> None:
        """A heading after an empty line."""
        self._print(_text())
        self.write(text, "bold cyan")

    def list(self, items: Iterable[str], style: str = "") -> None:
        """Write one item per line; wrapped lines are indented below the first."""
        for item in items:
            if self._is_file:
                self.write(f"- {item}")
            else:
                paragraph = _text("- " + self._readable(item), style=style)
                lines = paragraph.wrap(self._console, max(self._console.width - 2, 20))
                for at, line in enumerate(lines):
                    line.rstrip()
                    self._print(_text("  " if at else "").append_text(line))

    def draw(self, table: Table) -> None:
        """Write a table, with its first column aligned left and the others right."""
        gap = WIDE_GAP
        if not self._is_file:
            if sum(table.widths) + gap * (len(table.columns) - 1) > self._console.width:
                gap = NARROW_GAP
            table = fitted(table, self._console.width, gap)
        self._print(_text())
        self.write(table.title, "bold")
        headers = [column.header.split("\n") for column in table.columns]
        height = max(len(lines) for lines in headers)
        for at in range(-height, 0):
            line = [lines[at] if -at <= len(lines) else "" for lines in headers]
            self._line(line, table.widths, gap, "bold" if at == -1 else "")
        self._line(["─" * width for width in table.widths], table.widths, gap, "dim")
        for row in table.rows:
            self._line(row.cells, table.widths, gap, STYLES[row.kind])
        for note in table.notes:
            self.write(note, "dim")

    def _line(self, cells: Sequence[str], widths: Sequence[int], gap: int, style: str) -> None:
        first, *others = cells
        padded = [first.ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        self.write((" " * gap).join(padded).rstrip(), style)

    def _print(self, what: Text) -> None:
        self._console.print(what, soft_wrap=self._is_file, highlight=False, markup=False)

    def _readable(self, text: str) -> str:
        # A result may come from anybody: its labels and failures could control the terminal.
        shown = printable(text, kept=LINES)
        return as_ascii(shown) if self._is_ascii else shown


def _text(text: str = "", style: str = "") -> Text:
    # Code with a console has imported Rich already; tables as values do not need it.
    from rich.text import Text

    return Text(text, style=style)
