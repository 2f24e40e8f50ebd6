"""What each generator is told of a load: whole connections, and the rate that goes with them."""

from __future__ import annotations

import pytest
from tests.support.plans.echo import planned as planned_echo
from tests.support.plans.stream import planned

from tinygram_bench.cluster.shares import shared_out, shares_of
from tinygram_bench.model.parameters import EchoParameters, RrParameters, StreamParameters
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr

LOOPS = ("loop/nodelay", "loop/nagle")


@pytest.mark.parametrize(
    ("total", "clients", "shares"),
    [
        (10, 2, (5, 5)),
        (10, 3, (4, 3, 3)),
        (3, 3, (1, 1, 1)),
        (10_000, 7, (1_429,) * 4 + (1_428,) * 3),
    ],
)
def test_connections_are_shared_whole_and_evenly(
    total: int, clients: int, shares: tuple[int, ...]
) -> None:
    assert shares_of(total, clients) == shares
    assert sum(shares) == total


@pytest.mark.parametrize("clients", [2, 3, 20])
def test_the_shares_of_a_rate_are_the_rate(clients: int) -> None:
    plan = planned("loop/nodelay", rates_per_s=[30_000.0], clients=clients, takes_turns=True)
    (case,) = plan.cases
    of_each = shared_out(case, clients, 1)
    rates = [share.rate_per_s or 0 for share in of_each]
    assert sum(rates) == pytest.approx(30_000)
    assert len(set(rates)) == 1
    for share in of_each:
        assert (share.case_id, share.connections) == (case.case_id, 1)
        duration_s = (StreamParameters.of(share).duration_ns or 0) / 1e9
        assert StreamParameters.of(share).messages == round(30_000 / clients * duration_s)


def test_slices_of_all_generators_are_alike_and_hold_twenty_messages_of_each() -> None:
    plan = planned(*LOOPS, rates_per_s=[2_000.0], clients=4, takes_turns=True)
    of_each = [share for case in plan.cases for share in shared_out(case, 4, 1)]
    lengths_ns = {share.parameters.slice_ns for share in of_each}
    (slice_ns,) = lengths_ns
    assert slice_ns is not None
    assert slice_ns * 500 / 1e9 >= 20


def test_a_single_case_has_slices_too_for_hosts_are_in_step_by_them() -> None:
    (alone,) = planned("loop/nodelay", rates_per_s=[1_000.0], takes_turns=True).cases
    (shared,) = planned("loop/nodelay", rates_per_s=[1_000.0], takes_turns=True, clients=2).cases
    assert alone.parameters.slice_ns is None
    assert shared.parameters.slice_ns is not None


def test_flat_out_each_generator_sends_what_it_can() -> None:
    plan = planned(*LOOPS, takes_turns=True, clients=3)
    for case in plan.cases:
        assert [share.rate_per_s for share in shared_out(case, 3, 1)] == [None] * 3


def test_each_generator_is_told_its_share_of_many_connections_and_of_the_rate() -> None:
    plan = planned(
        "native/tinygram/nodelay",
        rates_per_s=[2_000_000.0],
        connections=[10_000],
        clients=20,
        takes_turns=True,
    )
    (case,) = plan.cases
    assert case.connections == 10_000
    of_each = shared_out(case, 20, 1)
    assert [share.connections for share in of_each] == [500] * 20
    assert [share.rate_per_s for share in of_each] == [100_000] * 20


@pytest.mark.parametrize("connections", ["per-request", "per-caller", "shared"])
def test_the_callers_of_each_process_are_shared_and_none_is_lost(connections: str) -> None:
    options = RrOptions(
        strategies=("nodelay",),
        connections=(connections,),
        sends_per_request=(1,),
        processes=2,
        callers=100,
        takes_turns=True,
        clients=3,
        link="remote",
    )
    (case,) = plan_rr(options).cases
    of_each = shared_out(case, 3, 1)
    assert [share.producers for share in of_each] == [68, 66, 66]
    asked = [RrParameters.of(share) for share in of_each]
    assert [each.callers_per_process for each in asked] == [34, 33, 33]
    is_shared = connections == "shared"
    assert [each.depth for each in asked] == ([34, 33, 33] if is_shared else [None] * 3)
    assert [share.connections for share in of_each] == ([2] * 3 if is_shared else [68, 66, 66])
    assert sum(share.producers for share in of_each) == case.producers == 200
    (slice_ns,) = {share.parameters.slice_ns for share in of_each}
    assert slice_ns is not None


@pytest.mark.parametrize("rates_per_s", [[], [9_000.0]])
def test_the_workers_of_an_echo_are_shared_with_their_rate_and_their_warm_up(
    rates_per_s: list[float],
) -> None:
    (case,) = planned_echo(
        "asyncio/protocol",
        workers=8,
        depth=200,
        clients=3,
        rates_per_s=rates_per_s,
        takes_turns=True,
        link="remote",
    ).cases
    assert case.case_id.endswith("/3-clients")
    of_each = shared_out(case, 3, 1)
    assert [share.connections for share in of_each] == [3, 3, 2]
    assert {share.case_id for share in of_each} == {case.case_id}
    for share in of_each:
        assert share.rate_per_s == (9_000 / 8 * share.connections if rates_per_s else None)
        # None has fewer messages before the measured ones than may be in flight.
        assert EchoParameters.of(share).warm_up_messages == 200 * share.connections
    (slice_ns,) = {share.parameters.slice_ns for share in of_each}
    assert slice_ns is not None


def test_slices_of_an_echo_hold_twenty_messages_of_the_client_with_the_fewest_workers() -> None:
    (case,) = planned_echo(
        "asyncio/protocol",
        workers=5,
        clients=3,
        rates_per_s=[1_000.0],
        takes_turns=True,
        link="remote",
    ).cases
    *_, least = shared_out(case, 3, 1)
    assert least.connections == 1
    assert (least.rate_per_s or 0) * (case.parameters.slice_ns or 0) / 1e9 >= 20
