"""What `tinygram rr` plans: which cases, under which names, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tinygram_bench import Plan
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.statistics.workloads.loads import way_of
from tinygram_bench.statistics.workloads.rr import compared_pairs
from tinygram_bench.workloads.rr.calling import RUNTIMES
from tinygram_bench.workloads.rr.cases import CONNECTIONS, RrOptions, plan_rr
from tinygram_bench.workloads.rr.run import Rr
from tinygram_bench.workloads.rr.serving import SERVERS


def test_by_default_the_published_callers_in_four_shapes_with_both_strategies() -> None:
    plan = plan_rr(RrOptions())
    shapes = [
        (RrParameters.of(case).connections, RrParameters.of(case).sends_per_request, case.strategy)
        for case in plan.cases
    ]
    assert shapes == [
        (connections, sends, strategy)
        for connections in ("per-request", "per-caller")
        for sends in (1, 10)
        for strategy in ("nagle", "nodelay")
    ]
    [first, *_] = plan.cases
    assert (first.runtime, first.implementation, first.producers) == ("threads", "stdlib", 200)
    assert (first.message_bytes.max, RrParameters.of(first).reply_bytes) == (10_010, 2)
    assert RrParameters.of(first).backlog == 1024


def test_every_case_has_a_name_of_its_own() -> None:
    plan = plan_rr(
        RrOptions(
            runtimes=tuple(RUNTIMES),
            connections=CONNECTIONS,
            servers=tuple(SERVERS),
            server_strategies=("nagle", "nodelay"),
            backlogs=(50, 1024),
        )
    )
    ids = {case.case_id for case in plan.cases}
    assert len(ids) == len(plan.cases) == 4 * 3 * 2 * 3 * 2 * 2 * 2
    others: list[dict[str, Any]] = [
        {"request_bytes": 1_000},
        {"reply_bytes": 3},
        {"callers": 5},
        {"has_quickack": True},
    ]
    for change in others:
        assert not ids & {case.case_id for case in plan_rr(replace(RrOptions(), **change)).cases}


def test_a_strategy_of_the_library_is_for_event_loops_alone() -> None:
    plan = plan_rr(
        RrOptions(
            runtimes=("threads", "asyncio"),
            strategies=("nodelay", "adaptive", "coalesce:10us"),
            connections=("per-caller",),
            sends_per_request=(1,),
        )
    )
    assert [(each.runtime, each.implementation, each.strategy) for each in plan.cases] == [
        ("threads", "stdlib", "nodelay"),
        ("asyncio", "stdlib", "nodelay"),
        ("asyncio", "tinygram", "adaptive"),
        ("asyncio", "tinygram", "coalesce:10us"),
    ]
    with pytest.raises(UsageError, match="--strategy 'adaptive' is unknown to callers on threads"):
        plan_rr(RrOptions(strategies=("adaptive",)))


def test_shared_connections_are_as_many_as_processes_and_as_deep_as_asked() -> None:
    options = RrOptions(connections=("shared",), sends_per_request=(1,), strategies=("nagle",))
    [case] = plan_rr(options).cases
    assert (case.connections, RrParameters.of(case).depth) == (2, 100)
    [deep] = plan_rr(replace(options, depth=7)).cases
    assert RrParameters.of(deep).depth == 7
    assert deep.case_id != case.case_id


def test_a_number_of_calls_ends_a_run_in_place_of_a_duration() -> None:
    for calls, duration_ns in ((None, 1_000_000_000), (5, None)):
        case = plan_rr(RrOptions(calls=calls)).cases[0]
        assert (RrParameters.of(case).calls, RrParameters.of(case).duration_ns) == (
            calls,
            duration_ns,
        )


def test_a_server_that_runs_already_has_no_options_of_ours() -> None:
    plan = plan_rr(RrOptions(server_address=("127.0.0.1", 7000)))
    assert {RrParameters.of(case).server_runtime for case in plan.cases} == {"elsewhere"}
    assert {RrParameters.of(case).backlog for case in plan.cases} == {None}
    assert {RrParameters.of(case).server_address for case in plan.cases} == {"127.0.0.1:7000"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"runtimes": ("twisted",)}, "--runtime 'twisted'.*threads, asyncio, uvloop, native"),
        (
            {"strategies": ("cork",)},
            "--strategy 'cork' is unknown to callers on threads: .*nodelay",
        ),
        ({"connections": ("one",)}, "--connections 'one'.*per-request, per-caller, shared"),
        ({"servers": ("java",)}, "--server-runtime 'java'.*native, asyncio, uvloop"),
        ({"server_strategies": ("cork",)}, "--server-strategy 'cork'"),
        ({"sends_per_request": (0,)}, "--sends-per-request 0 is outside 1 … 10010"),
        ({"sends_per_request": (3,), "request_bytes": 2}, "--sends-per-request 3 .* 1 … 2"),
        ({"processes": 100, "callers": 100}, "--callers 100x100 is more than 2048"),
        ({"depth": 5}, "--depth is for shared connections"),
        ({"depth": 101, "connections": ("shared",)}, "--depth 101 is outside 1 … 100"),
    ],
)
def test_what_cannot_be_is_refused_by_name(change: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan_rr(replace(RrOptions(), **change))


def test_nodelay_is_compared_with_nagle_where_nothing_else_differs() -> None:
    plan = plan_rr(RrOptions(runtimes=("native",), sends_per_request=(1, 10)))
    pairs = list(compared_pairs(plan.cases))
    assert len(pairs) == len(plan.cases) // 2
    for baseline, case_id in pairs:
        assert baseline == case_id.replace("/nodelay/loopback", "/nagle/loopback")


def test_each_runtime_is_compared_with_the_first_by_the_same_strategy() -> None:
    runtimes = ("threads", "asyncio", "native")
    plan = plan_rr(RrOptions(runtimes=runtimes, strategies=("nodelay",)))
    pairs = list(compared_pairs(plan.cases))
    assert len(pairs) == len(plan.cases) * 2 // 3
    for baseline, case_id in pairs:
        others = (case_id.replace(f"/{name}/", "/threads/", 1) for name in runtimes[1:])
        assert baseline in others


def test_who_serves_is_no_part_of_how_callers_send() -> None:
    plan = plan_rr(RrOptions(runtimes=("threads",), servers=("native", "asyncio")))
    assert {way_of(case) for case in plan.cases} == {"threads/nagle", "threads/nodelay"}


def swept(**options: Any) -> list[tuple[str, str]]:
    """The ways of a sweep of holds from 1 µs to 1 ms: its first points, and what has no hold."""
    shape = {"connections": ["per-caller"], "sends_per_request": [2], **options}
    plan = Plan.rr(sweep=["hold=1us..1ms"], **shape)
    return [(case.runtime, case.strategy) for case in plan.cases]


def test_a_sweep_of_holds_has_callers_that_hold_beside_some_that_do_not() -> None:
    ways = swept()
    assert ways[0] == ("asyncio", "nodelay")
    assert {runtime for runtime, _ in ways} == {"asyncio"}
    assert [strategy for _, strategy in ways[1:]] == [
        f"coalesce:{hold}" for hold in ("1us", "5620ns", "31600ns", "178us", "1ms")
    ]


def test_ways_in_a_sweep_of_holds_may_be_named() -> None:
    found = swept(connections=["50"], runtime=["uvloop"], strategy=["adaptive", "coalesce:1s"])
    assert found[0] == ("uvloop", "adaptive")
    assert ("uvloop", "coalesce:1ms") in found
    assert all(runtime == "uvloop" for runtime, _ in found)


def test_what_is_held_has_time_to_leave_after_a_slice() -> None:
    options = RrOptions(runtimes=("asyncio",), strategies=("nodelay", "coalesce:3ms"))
    waits_ns = {case.strategy: Rr(1).waits_ns(case) for case in plan_rr(options).cases}
    assert waits_ns == {"nodelay": 0, "coalesce:3ms": 3_000_000}
