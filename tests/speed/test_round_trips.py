"""What `round_trips` measures and stores: every way on one loop, and ratios slice beside slice."""

from __future__ import annotations

from pathlib import Path

import pytest
from published.stored import ROWS, Figure, read
from round_trips import measured, told
from round_trips_by_turns import WAYS, Load

SIZE = 256
LOADS = [Load(is_tls, writes, SIZE) for is_tls in (True, False) for writes in (1, 16)]
TABLES = {
    *(f"round-trips-{shape}-{kind}" for shape in ("whole", "parts") for kind in ("tls", "plain")),
    "round-trips-beside",
}


def test_every_way_has_a_slice_of_each_load_in_each_cycle() -> None:
    loads = [LOADS[0], LOADS[3]]
    costs = measured(loads, rounds=1, cycles=2)
    assert costs.keys() == {(way, load) for way in WAYS for load in loads}
    assert all(len(of_round) == 2 and min(of_round) > 0 for (of_round,) in costs.values())


def test_slices_of_one_cycle_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The host is slower from cycle to cycle, and in every second round.
    hosts = [[1.0, 3.0, 9.0], [2.0, 6.0, 18.0]] * 4
    costs_ns = dict.fromkeys(WAYS, 20_000.0) | {
        "asyncio/tinygram": 10_000.0,
        "uvloop/tinygram": 40_000.0,
    }
    costs = {
        (way, load): [[cost_ns * each for each in of_round] for of_round in hosts]
        for way, cost_ns in costs_ns.items()
        for load in LOADS
    }
    path = tmp_path / "rows.json"
    assert told(costs, [SIZE], path) == 1
    tables = read(path).tables
    assert tables.keys() == TABLES
    rows = {row.row: row.figures[str(SIZE)] for row in tables["round-trips-whole-tls"].rows}
    assert rows.keys() == {f"`{way}`" for way in WAYS}
    assert rows["`asyncio/tinygram`"] == Figure(2, 2, 2)
    of_loop = rows["`asyncio`"]
    assert isinstance(of_loop, Figure)
    # The median cycle of a round, and between those of the two kinds of rounds.
    assert of_loop.median == pytest.approx((1e9 / 60_000 + 1e9 / 120_000) / 2)
    reached = [row.is_reached for row in tables["round-trips-beside"].rows]
    assert reached == [True, True, False, False]
    assert "MISSED" in capsys.readouterr().out


def test_the_page_has_a_place_for_each_table() -> None:
    assert read(ROWS / "measure-tls.json").tables.keys() >= TABLES
