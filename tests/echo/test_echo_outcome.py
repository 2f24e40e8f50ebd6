"""What a run of `echo` says of itself: when it is the client, not the server, that was measured."""

from __future__ import annotations

import pytest
from tests.support.plans.echo import planned

from tinygram_bench.links.spec import LOOPBACK, REMOTE
from tinygram_bench.model.result import Run
from tinygram_bench.workloads.echo.order import ClientOrder, Report
from tinygram_bench.workloads.echo.outcome import Found, assembled

MESSAGES = 1_000
ORDER = ClientOrder(
    host="127.0.0.1",
    port=7_000,
    seed=1,
    message_bytes=1_000,
    workers=5,
    depth=1,
    warm_up=5,
    messages=MESSAGES,
    duration_ns=None,
    timeout_ns=1_000_000_000,
    trusts=False,
    polls=True,
    congestion_control="cubic",
)


def run_of(
    client_cpu_ms: int,
    server_cpu_ms: int | None,
    *,
    placement: str = "apart",
    link: str = LOOPBACK,
    in_flight: float = 4.9,
    congestion_controls: tuple[str, ...] = ("cubic",),
    is_ours: bool = True,
) -> Run:
    """A run of one second."""
    case = planned("runtime=native", "server=epoll", placement=placement, link=link).cases[0]
    counters = {
        "messages": MESSAGES,
        "run_time_ns": 1_000_000_000,
        "round_trips_ns": round(in_flight * 1e9),
        "client_cpu_ns": client_cpu_ms * 1_000_000,
    }
    used: dict[str, int | None] = {
        "cpu_ns": None if server_cpu_ms is None else server_cpu_ms * 1_000_000,
        "writes": MESSAGES,
        "written_bytes": MESSAGES * 1_000,
    }
    found = Found({**counters, **used}, 0, congestion_controls, is_ours, has_private_network=True)
    return assembled(case, 0, ORDER, Report(0, counters, {}, None), found)


def codes(run: Run) -> list[str]:
    return [warning.code for warning in run.warnings]


@pytest.mark.parametrize(
    ("client_cpu_ms", "server_cpu_ms", "is_doubted"),
    [
        (400, 900, False),
        (900, 950, False),
        (960, 990, True),
        (690, 500, False),
        (710, 700, True),
        (900, None, False),
        (960, None, True),
    ],
)
def test_a_client_that_may_be_the_limit_bars_the_figures(
    client_cpu_ms: int, server_cpu_ms: int | None, is_doubted: bool
) -> None:
    run = run_of(client_cpu_ms, server_cpu_ms)
    assert codes(run) == (["client_busy"] if is_doubted else [])
    for warning in run.warnings:
        assert {"throughput", "round_trip", "both_ways"} <= set(warning.figures)


def test_a_client_on_the_servers_core_always_is() -> None:
    [warning] = run_of(300, 600, placement="same").warnings
    assert warning.code == "client_busy"
    assert "shared a core" in warning.message


def test_a_client_of_a_server_on_another_host_never_is_for_that() -> None:
    assert codes(run_of(300, 600, placement="same", link=REMOTE)) == []


def test_places_that_stay_empty_are_not_put_down_to_the_client_alone() -> None:
    [warning] = run_of(300, 900, in_flight=3.0).warnings
    assert warning.code == "places_empty"
    assert "3.0 messages were in flight on average, where 5 might be" in warning.message


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("bbr",), "its replies went under bbr"),
        (("bbr", "cubic"), "its replies went under bbr and cubic"),
        ((), "what its replies went under is not known"),
    ],
)
def test_another_congestion_control_bars_the_figures(given: tuple[str, ...], said: str) -> None:
    [warning] = run_of(400, 900, congestion_controls=given, is_ours=False).warnings
    assert (warning.code, said in warning.message) == ("congestion_control", True)
    assert {"throughput", "round_trip", "both_ways"} <= set(warning.figures)
