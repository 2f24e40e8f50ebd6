"""A stored table as Markdown, with a line beneath it that says where it is from."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

from published.stored import Asked, Cell, Column, Figure, Row, Table


def markdown(table: Table) -> str:
    """A stored table, and beneath it where it is from."""
    return f"{lines_of(table.first, table.columns, table.rows)}\n\n{origin(table)}"


def lines_of(first: str, columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """A table alone."""
    titles = [first, *(column.title for column in columns)]
    has_aims = any(row.asked is not None for row in rows)
    rules = ["---", *("---" if column.is_text else "--:" for column in columns)]
    if has_aims:
        titles[2:2] = ["asked", "reached"]
        rules[2:2] = ["--:", "---"]
    lines = [_line(titles), f"|{'|'.join(rules)}|"]
    for row in rows:
        cells = [row.row, *(_shown(row.figures.get(each.figure), each) for each in columns)]
        if has_aims:
            cells[2:2] = [_aim(row.asked), _reached(row)]
        lines.append(_line(cells))
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _shown(cell: Cell, column: Column) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, list):
        return column.between.join(_shown(each, column) for each in cell)
    return in_words(cell if isinstance(cell, Figure) else Figure(cell), column.decimals)


def in_words(found: Figure, decimals: int | None = None) -> str:
    """A figure such as `1.92 (1.88–1.98)`, with so many decimals unless it says itself."""
    decimals = decimals if found.decimals is None else found.decimals
    words = number(found.median, decimals)
    if found.unit:
        words += f" {found.unit}"
    if found.is_shown:
        words = f"**{words}**"
    if found.low is not None and found.high is not None:
        words += f" ({number(found.low, decimals)}–{number(found.high, decimals)})"
    return words + "?" * found.is_doubtful


def number(value: float, decimals: int | None) -> str:
    """With so many decimals; None: four significant digits, and no zeros at the end."""
    if decimals is not None:
        return f"{value:,.{decimals}f}"
    digits = 3 - floor(log10(abs(value))) if value else 0
    if digits <= 0:
        return f"{round(value, digits):,.0f}"
    return f"{value:,.{digits}f}".rstrip("0").rstrip(".")


def _aim(asked: Asked | None) -> str:
    if asked is None:
        return ""
    low, high = (
        None if each is None else f"{each:,g} {asked.unit}".rstrip()
        for each in (asked.at_least, asked.at_most)
    )
    if low is None:
        return "" if high is None else f"at most {high}"
    return low if high is None else f"{low} to {high}"


def _reached(row: Row) -> str:
    if row.asked is None:
        return ""
    return {True: "yes", False: "no", None: "cannot be said"}[row.is_reached]


def origin(table: Table) -> str:
    """When, where and by which code it was measured, in a sentence."""
    day = f"{table.on.day} {table.on:%B %Y}"
    if table.taken_from is not None:
        page, _, commit = table.taken_from.partition(" at ")
        # The environment may name a commit, too: that of the code which was measured.
        taken = f"Copied from {page} as it was at commit {commit}"
        return f"Measured on {day}: {table.environment}. {taken}."
    code = "" if table.commit is None else f", commit {table.commit}"
    return f"Measured by `{table.bench}` on {day}{code}: {table.environment}."
