"""What each generator is told of a load: whole connections, and the rate that goes with them."""

from __future__ import annotations

import pytest
from tests.support.plans.stream import planned

from tinygram_bench.cluster.shares import shared_out, shares_of
from tinygram_bench.model.parameters import StreamParameters

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
    of_each = shared_out(plan.cases, clients, 1)
    (case,) = plan.cases
    rates = [share.rate_per_s or 0 for (share,) in of_each]
    assert sum(rates) == pytest.approx(30_000)
    assert len(set(rates)) == 1
    for (share,) in of_each:
        assert (share.case_id, share.connections) == (case.case_id, 1)
        duration_s = (StreamParameters.of(share).duration_ns or 0) / 1e9
        assert StreamParameters.of(share).messages == round(30_000 / clients * duration_s)


def test_slices_of_all_generators_are_alike_and_hold_twenty_messages_of_each() -> None:
    plan = planned(*LOOPS, rates_per_s=[2_000.0], clients=4, takes_turns=True)
    of_each = shared_out(plan.cases, 4, 1)
    lengths_ns = {share.parameters.slice_ns for shares in of_each for share in shares}
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
    for shares in shared_out(plan.cases, 3, 1):
        assert [share.rate_per_s for share in shares] == [None, None]
