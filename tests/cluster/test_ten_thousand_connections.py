"""10,000 connections are shared among generators that really make them, in one process of tests."""

from __future__ import annotations

import resource

import pytest
from tests.cluster.in_process import CLIENTS, runs_of
from tests.support.plans.stream import planned

CONNECTIONS = 10_000
RATE_PER_S = 20_000.0


def test_each_generator_makes_its_share_and_every_message_counts() -> None:
    share = -(-CONNECTIONS // CLIENTS)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < share + 100:
        pytest.skip(f"a process may have {most} descriptors here, and this needs {share + 100}")
    plan = planned(
        "native/tinygram/nodelay",
        connections=(CONNECTIONS,),
        rates_per_s=[RATE_PER_S],
        duration_ns=1_000_000_000,
        timeout_ns=60_000_000_000,
        takes_turns=True,
        clients=CLIENTS,
        link="remote",
    )
    (run,) = runs_of(plan, CLIENTS)
    assert run.failure is None
    assert [host.failure for host in run.hosts] == [None] * CLIENTS
    assert [host.connections for host in run.hosts] == [share, share - 1, share - 1]
    assert run.counters["messages"] == sum(host.messages or 0 for host in run.hosts)
    assert run.counters["messages"] == pytest.approx(RATE_PER_S, rel=0.05)
