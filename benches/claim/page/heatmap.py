"""The heat map: cells × strategies, coloured by regret; an SVG for light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from claim.grid import Cell
from claim.judging.regret import Regret
from claim.result import ClaimResult, runtimes_of

_SIDE = 13
_LEFT = 150
_GAP = 22
_HEAD = 64
_LEGEND_WIDTH = 620
_CLASSES: Sequence[tuple[float, str, str]] = (
    (0.05, "#2c7bb6", "up to 5 %"),
    (0.10, "#83bcd8", "10 %"),
    (0.25, "#f4e9a6", "25 %"),
    (1.0, "#fdae61", "2 ×"),
    (9.0, "#e0603a", "10 ×"),
    (float("inf"), "#8f1218", "more"),
)
"""Regret up to, colour, label: blue to red, which most colour-blind people tell apart."""
_STYLE = (
    "text{font:10px sans-serif;fill:#333}.h{font-weight:bold;font-size:12px}"
    ".o{font-weight:bold}.n{fill:none;stroke:#999;stroke-width:.5}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}}"
)


def colour_of(regret: float) -> str:
    """The colour of a regret; gains have that of the smallest ones."""
    return next(colour for most, colour, _ in _CLASSES if regret <= most)


def heat_map(result: ClaimResult) -> str:
    """The whole picture: a block for each runtime, paced and flat out; a row for each strategy."""
    parts: list[str] = []
    y, width = _legend(parts), _LEGEND_WIDTH
    for is_paced, title in ((True, "delay + CPU"), (False, "the time per message, flat out")):
        columns = _columns_of(result, is_paced)
        if not columns:
            continue
        parts.append(_text(0, y + 14, f"Regret of {title}", "h"))
        width = max(width, _LEFT + _SIDE * len(columns) + 40)
        y = _names(parts, columns, y + 20)
        for runtime in runtimes_of(result):
            y = _block(parts, result, is_paced, runtime, columns, y) + 6
        y += _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}" '
        f'height="{y}" role="img" aria-label="Regret of each strategy in each cell">'
        f"<style>{_STYLE}</style>{''.join(parts)}</svg>\n"
    )


def _legend(parts: list[str]) -> int:
    x = 0
    parts.append(_text(0, 12, "Costs more than the best fixed strategy of the cell by:"))
    for _, colour, label in _CLASSES:
        parts.append(f'<rect x="{x}" y="18" width="{_SIDE}" height="{_SIDE}" fill="{colour}"/>')
        parts.append(_text(x + _SIDE + 4, 28, label))
        x += 80
    parts.append(_text(x, 28, "frame: cannot keep up"))
    return 44


Column = tuple[str, int]
"""The load and the message size."""


def _column_of(cell: Cell) -> Column:
    return cell.load, cell.message_bytes


def _columns_of(result: ClaimResult, is_paced: bool) -> list[Column]:
    there = (cell for cell in result.cells if (cell.rate_per_s is not None) == is_paced)
    return list(dict.fromkeys(map(_column_of, there)))


def _names(parts: list[str], columns: Sequence[Column], y: int) -> int:
    """The columns' names, upright; where the next row begins."""
    longest = max(len(load) for load, _ in columns)
    height = max(_HEAD, 6 * longest + 30)
    for at, (load, size) in enumerate(columns):
        x = _LEFT + at * _SIDE + _SIDE - 3
        label = escape(f"{load}, {size} B")
        parts.append(
            f'<text transform="translate({x},{y + height - 4}) rotate(-90)">{label}</text>'
        )
    return y + height


def _block(
    parts: list[str],
    result: ClaimResult,
    is_paced: bool,
    runtime: str,
    columns: Sequence[Column],
    y: int,
) -> int:
    numbers = {
        _column_of(cell): number
        for number, cell in enumerate(result.cells)
        if cell.runtime == runtime and (cell.rate_per_s is not None) == is_paced
    }
    if not numbers:
        return y
    regrets = {(each.cell, each.strategy): each for each in result.judged.regrets}
    strategies = result.cells[next(iter(numbers.values()))].strategies
    parts.append(_text(0, y + 10, runtime, "o"))
    for row, strategy in enumerate(strategies):
        top = y + row * _SIDE
        parts.append(_text(60, top + 10, strategy, "o" if strategy == strategies[-1] else ""))
        for at, column in enumerate(columns):
            found = regrets.get((numbers.get(column, -1), strategy))
            parts.append(_square(_LEFT + at * _SIDE, top, strategy, column, found))
    return y + len(strategies) * _SIDE


def _square(x: int, y: int, strategy: str, column: Column, regret: Regret | None) -> str:
    side = _SIDE - 1
    place = f'x="{x}" y="{y}" width="{side}" height="{side}"'
    if regret is None:
        return f'<rect class="n" {place}/>'
    frame = ' stroke="#000" stroke-width="1.5"' if regret.is_overloaded else ""
    title = escape(f"{strategy}, {column[0]}, {column[1]} B: {100 * regret.regret:+.0f} %")
    return f'<rect {place} fill="{colour_of(regret.regret)}"{frame}><title>{title}</title></rect>'


def _text(x: int, y: int, text: str, kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}"{style}>{escape(text)}</text>'
