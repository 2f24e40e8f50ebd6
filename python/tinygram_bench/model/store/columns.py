"""Rows in columns, as pages hold them: all values of one property together are packed smaller.

Law: the rows come back as they were, and in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

_ROWS = ("runs", "summaries", "verdicts")
"""The properties of a result that are long lists of objects."""
_Path = tuple[str, ...]
"""The names that lead from a row to one of its values."""
_Row = dict[str, Any]


class _Columns(msgspec.Struct, forbid_unknown_fields=True):
    """Rows of several kinds: those of one kind have values at the same paths.

    `kind_of`: the kind of each row, in the order of the rows. `columns`: for each kind a column for
    each of its paths, with the values of its rows in their order.
    """

    kinds: list[tuple[_Path, ...]]
    kind_of: list[int]
    columns: list[list[list[Any]]]


def in_columns(document: bytes) -> bytes:
    """A result file's content with its rows in columns. Raises ValueError where it is none."""
    parts = msgspec.json.decode(document, type=dict[str, msgspec.Raw])
    return msgspec.json.encode(
        {name: _columns_of(part) if name in _ROWS else part for name, part in parts.items()}
    )


def in_rows(document: bytes, most_bytes: int) -> bytes:
    """The content with its columns as rows again; where it has none, it stays as it is.

    Raises ValueError where columns do not fit together, RecursionError where objects are too deep
    in each other, and OverflowError before the content with its rows has more than so many bytes.
    """
    try:
        parts = msgspec.json.decode(document, type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError):
        return document  # No result: whoever reads it says what is wrong.
    packed = [name for name in _ROWS if name in parts and bytes(parts[name]).startswith(b"{")]
    most_bytes -= len(document) - sum(len(bytes(parts[name])) for name in packed)
    if most_bytes < 0:
        raise OverflowError
    for name in packed:
        rows = _rows_of(msgspec.json.decode(parts[name], type=_Columns), most_bytes)
        most_bytes -= len(rows)
        parts[name] = msgspec.Raw(rows)
    return msgspec.json.encode(parts) if packed else document


def _columns_of(part: msgspec.Raw) -> _Columns:
    found = _Columns([], [], [])
    known: dict[tuple[_Path, ...], int] = {}
    for row in msgspec.json.decode(part, type=list[_Row]):
        cells = dict(_cells_of(row))
        kind = known.setdefault(tuple(cells), len(known))
        if kind == len(found.kinds):
            found.kinds.append(tuple(cells))
            found.columns.append([[] for _ in cells])
        found.kind_of.append(kind)
        for column, value in zip(found.columns[kind], cells.values(), strict=True):
            column.append(value)
    return found


def _cells_of(row: _Row, above: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    """Each value of a row that is no object, or an empty one, and its path."""
    for name, value in row.items():
        if isinstance(value, dict) and value:
            yield from _cells_of(value, (*above, name))
        else:
            yield (*above, name), value


def _rows_of(found: _Columns, most_bytes: int) -> bytes:
    kinds = zip(found.kinds, found.columns, strict=True)
    of_kinds = [_rows_of_kind(paths, columns) for paths, columns in kinds]
    rows = bytearray(b"[")
    for kind in found.kind_of:
        if not 0 <= kind < len(of_kinds) or (row := next(of_kinds[kind], None)) is None:
            raise ValueError("a row has no columns")
        rows += b"," if len(rows) > 1 else b""
        rows += msgspec.json.encode(row)
        if len(rows) >= most_bytes:
            raise OverflowError
    return bytes(rows + b"]")


def _rows_of_kind(paths: Sequence[_Path], columns: Sequence[Sequence[Any]]) -> Iterator[_Row]:
    for values in zip(*columns, strict=True):
        row: _Row = {}
        for path, value in zip(paths, values, strict=True):
            *above, name = path
            place = row
            for each in above:
                place = place.setdefault(each, {})
                if not isinstance(place, dict):
                    raise ValueError("a row has two values in one place")
            place[name] = value
        yield row
