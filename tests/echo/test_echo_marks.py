"""What a server used between two marks."""

from __future__ import annotations

from tinygram_bench.workloads.echo.marks import USED, ServerUsed, since


def used(cpu_ns: int | None) -> ServerUsed:
    return dict.fromkeys(USED) | {"cpu_ns": cpu_ns}


def test_it_is_the_difference() -> None:
    assert since(used(100), used(250))["cpu_ns"] == 150


def test_a_process_of_a_server_that_has_ended_makes_no_negative_time() -> None:
    assert since(used(250), used(100))["cpu_ns"] is None


def test_what_is_not_known_once_is_not_known() -> None:
    assert since(used(None), used(100))["cpu_ns"] is None
    assert since(used(100), used(None))["cpu_ns"] is None
