"""Drawing on a console: in colour on a terminal; plain ASCII lines, never wrapped, elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from tinygram_bench.model.plain_text import as_ascii
from tinygram_bench.report.layout import RowKind, Table, fitted

STYLES: dict[RowKind, str] = {
    "plain": "",
    "best": "bold green",
    "limit": "italic dim",
    "absent": "dim",
}
WIDE_GAP = 2
NARROW_GAP = 1


class Pen:
    """Writes headings, tables and lists on one console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_file = not console.is_terminal
        self._is_ascii = self._is_file or console.options.ascii_only

    def write(self, text: str, style: str = "") -> None:
        """One paragraph."""
        self._print(Text(self._readable(text), style=style))

    def head(self, text: str) -> None:
        """A heading after an empty line."""
        self._print(Text())
        self.write(text, "bold cyan")

    def list(self, items: Iterable[str], style: str = "") -> None:
        """One item a line, wrapped lines indented below the first."""
        for item in items:
            if self._is_file:
                self.write(f"- {item}")
            else:
                paragraph = Text("- " + self._readable(item), style=style)
                lines = paragraph.wrap(self._console, max(self._console.width - 2, 20))
                for at, line in enumerate(lines):
                    line.rstrip()
                    self._print(Text("  " if at else "").append_text(line))

    def draw(self, table: Table) -> None:
        """A table, its first column to the left and the others to the right."""
        gap = WIDE_GAP
        if not self._is_file:
            if sum(table.widths) + gap * (len(table.columns) - 1) > self._console.width:
                gap = NARROW_GAP
            table = fitted(table, self._console.width, gap)
        self._print(Text())
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
        return as_ascii(text) if self._is_ascii else text
