"""What `over_tls` stores of a table: the page's columns, and ratios over TLS."""

from __future__ import annotations

from pathlib import Path

import over_tls
import pytest
from msgspec.structs import replace
from published.stored import ROWS, Cell, Figure, read

TABLES = {each.name: each for each in over_tls.TABLES}


def median_of(cell: Cell) -> float:
    """The figure alone: whether it is doubtful depends on what else runs on this machine."""
    assert isinstance(cell, Figure)
    return cell.median


def test_a_stream_is_told_with_and_without_tls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.json"
    ways = ("loop/nodelay", "loop/coalesce:10us")
    asked = replace(TABLES["streams"], ways=ways, ratios=(ways[::-1],))
    over_tls.tell(asked, path, rounds=1, duration_ns=100_000_000)
    stored = read(path).tables
    each, joined = stored["streams"].rows
    assert [each.row, joined.row] == ["`loop/nodelay`", "`loop/coalesce:10us`"]
    assert median_of(each.figures["records"]) == 1
    assert median_of(each.figures["wire_bytes"]) == 122
    assert median_of(joined.figures["records"]) < 1
    assert each.figures.keys() == {column.figure for column in stored["streams"].columns}
    (ratio,) = stored["streams-ratios"].rows
    assert ratio.row == "`loop/coalesce:10us` ÷ `loop/nodelay`"
    assert "streams-ratios" in capsys.readouterr().out


def test_an_echo_server_is_named_as_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    ways = ("asyncio/protocol", "threads/recv")
    asked = replace(TABLES["echoes"], ways=ways, ratios=(ways,))
    over_tls.tell(asked, path, rounds=1, duration_ns=100_000_000)
    assert [row.row for row in read(path).tables["echoes"].rows] == [f"`{way}`" for way in ways]


def test_a_record_for_each_byte_is_compared_with_joined_ones(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    asked = TABLES["single-bytes"]
    over_tls.tell(replace(asked, ratios=asked.ratios[1:]), path, rounds=1, duration_ns=100_000_000)
    stored = read(path).tables
    joined = {row.row: median_of(row.figures["wire_bytes"]) for row in stored["single-bytes"].rows}
    (row,) = stored["single-bytes-ratios"].rows
    assert row.row == "`asyncio/nodelay` ÷ `asyncio/tinygram/adaptive`"
    each, ours = joined["`asyncio/nodelay`"], joined["`asyncio/tinygram/adaptive`"]
    assert each == 23
    assert median_of(row.figures["wire_bytes"]) == 23 / ours
    cpu = row.figures["cpu"]
    assert isinstance(cpu, Figure)
    assert cpu.median > 1
    assert cpu.is_doubtful  # A single round gives no verdict.


def test_the_page_has_a_place_for_each_table() -> None:
    names = {
        name
        for table in over_tls.TABLES
        for name in (table.name, *([f"{table.name}-ratios"] if table.ratios else []))
    }
    assert names <= read(ROWS / "measure-tls.json").tables.keys()
