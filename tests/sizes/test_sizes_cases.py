"""From options to cases: each cell once, named so that no two are alike."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.plans.sizes import planned

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.workloads.sizes.cases import (
    LOCAL_PARTS,
    MAX_ALTERNATING,
    check_sample_bytes,
    parse_round_trips,
    parse_sizes,
)


def test_every_cell_is_there_once_for_each_way() -> None:
    plan = planned(
        sizes_bytes=[1, 10, 1],
        round_trips=[0, 2, 2],
        setup_writes=[1, 2],
        strategies=["nodelay", "nagle"],
        has_local=True,
    )
    ids = [case.case_id for case in plan.cases]
    assert len(set(ids)) == len(ids)
    exchanges = [case for case in plan.cases if SizesParameters.of(case).part is None]
    assert len(exchanges) == 2 * 2 * (1 + 2)
    every = [*plan.cases, *(absent.case for absent in plan.unavailable)]
    local = [
        SizesParameters.of(case).part for case in every if SizesParameters.of(case).part is not None
    ]
    assert local == list(LOCAL_PARTS)


def test_samples_of_several_cases_alternate_and_local_parts_are_alone() -> None:
    def alternating(**changes: Any) -> list[bool]:
        return [SizesParameters.of(case).alternates for case in planned(**changes).cases]

    together = planned(sizes_bytes=[1, 2], takes_turns=True, has_local=True)
    for case in together.cases:
        asked = SizesParameters.of(case)
        assert asked.alternates == (asked.part is None)
    assert alternating(sizes_bytes=[1], round_trips=[0], takes_turns=True) == [False]
    assert set(alternating(sizes_bytes=[1, 2])) == {False}


def test_more_cases_than_a_server_has_ports_for_are_refused() -> None:
    sizes = list(range(1, 1 + MAX_ALTERNATING))
    assert planned(sizes_bytes=sizes, round_trips=[0], takes_turns=True).cases
    more = {"sizes_bytes": [*sizes, 1_000], "round_trips": [0]}
    with pytest.raises(UsageError, match=r"256 cases can alternate .* these are 257: .*--lone"):
        planned(**more, takes_turns=True)
    assert len(planned(**more).cases) == 257


def test_a_server_that_runs_already_is_part_of_the_name() -> None:
    (case, *_) = planned(server="127.0.0.1:9000").cases
    assert case.case_id.endswith("/1B/0-round-trips/2-setup-writes/server-127.0.0.1:9000")


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("100", (100,)),
        ("1kB,64KiB", (1_000, 65_536)),
        ("1..1kB", (1, 10, 100, 1_000)),
        ("3..50", (3, 30, 50)),
        ("7..7", (7,)),
        ("1..10, 5", (1, 10, 5)),
    ],
)
def test_sizes_are_read(text: str, sizes: tuple[int, ...]) -> None:
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0", "above 0"),
        ("", "not a size"),
        ("10..1", "1..10"),
        ("65MiB", "1 B to 64 MiB"),
        ("1..many", "not a size"),
    ],
)
def test_what_is_no_size_is_refused_with_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_sizes(text)


def test_round_trips_are_read() -> None:
    assert parse_round_trips("0, 1,2") == (0, 1, 2)
    for text in ("", "-1", "1.5", "many", "10001", "٣"):
        with pytest.raises(UsageError, match="0 to 10000"):
            parse_round_trips(text)


def test_a_connection_that_would_carry_too_much_is_refused() -> None:
    check_sample_bytes([1, 32 << 20], [0, 2])
    with pytest.raises(UsageError, match="3 round trips of 33554432 bytes"):
        check_sample_bytes([1, 32 << 20], [0, 3])


def test_without_data_there_is_no_setup_in_one_write() -> None:
    cases = planned(setup_writes=[1, 2], sizes_bytes=[1]).cases
    cells = [
        (SizesParameters.of(case).setup_writes, SizesParameters.of(case).round_trips)
        for case in cases
    ]
    assert cells == [(1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    with pytest.raises(UsageError, match="more round trips"):
        planned(setup_writes=[1], round_trips=[0])
