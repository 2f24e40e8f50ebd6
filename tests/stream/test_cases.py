"""What `tinygram stream` plans: which ways, under which names, in which order."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from tests.support.plans.stream import planned

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import MessageBytes, Plan
from tinygram_bench.runs.rounds import ordered
from tinygram_bench.statistics.workloads.loads import way_of
from tinygram_bench.ways import runtimes

RUNTIMES = ("loop", "threads", "asyncio", "uvloop")
PUBLISHED = ("nagle", "nodelay", "coalesce:10us")
LIBRARY = ("coalesce:10us", "adaptive")
LIMITS = ["native/nodelay", "native/tick"]


def ways(plan: Plan) -> list[str]:
    return [way_of(case) for case in plan.cases]


def published(runtime: str) -> list[str]:
    return [f"{runtime}/{strategy}" for strategy in PUBLISHED]


def library(runtime: str) -> list[str]:
    own = "combine" if runtime == "threads" else "tick"
    return [f"{runtime}/tinygram/{strategy}" for strategy in (own, *LIBRARY)]


LOOP = published("loop") + library("loop")
THREADS = published("threads") + library("threads")
ASYNCIO = [*published("asyncio"), "asyncio/tick", *library("asyncio")]


def test_by_default_the_nine_published_ways_the_library_and_the_two_limits() -> None:
    assert ways(planned()) == LOOP + THREADS + ASYNCIO + LIMITS


def test_all_is_every_way_that_makes_sense() -> None:
    every = [
        (runtime.name, runtime.implementation, str(strategy))
        for runtime, strategy in runtimes.all_ways()
    ]
    planned_ways = [
        (case.runtime, case.implementation, case.strategy) for case in planned(has_all=True).cases
    ]
    assert planned_ways == every
    assert len(every) == len(set(every)) > 11


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (["runtime=asyncio,strategy=nagle"], ["asyncio/nagle", "asyncio/tinygram/nagle"]),
        (["runtime=asyncio", "strategy=nagle"], ["asyncio/nagle", "asyncio/tinygram/nagle"]),
        (["runtime=asyncio,strategy=cork"], ["asyncio/cork"]),
        (["strategy=cork"], ["loop/cork", "threads/cork", "asyncio/cork"]),
        (["runtime=loop,runtime=native"], LOOP + LIMITS),
        (
            ["implementation=tinygram"],
            [way for runtime in RUNTIMES for way in library(runtime)] + LIMITS,
        ),
        (["implementation=tinygram,runtime=loop"], library("loop")),
        (["implementation=tinygram,runtime=uvloop"], library("uvloop")),
        (
            ["strategy=adaptive"],
            [f"{runtime}/tinygram/adaptive" for runtime in ("loop", "threads", "asyncio")],
        ),
        # Where nobody is named, everybody that has it is meant.
        (["runtime=loop,strategy=tick"], ["loop/tinygram/tick"]),
        (
            ["runtime=loop,strategy=coalesce:1ms"],
            ["loop/coalesce:1ms", "loop/tinygram/coalesce:1ms"],
        ),
        # What is named runs even where it is no default.
        (["runtime=processes"], published("processes")),
        (["strategy=cork,runtime=processes"], ["processes/cork"]),
        (["strategy=timer:5ms"], ["asyncio/timer:5ms"]),
        (
            ["strategy=competitive:7us"],
            [f"{runtime}/tinygram/competitive:7us" for runtime in ("loop", "threads", "asyncio")],
        ),
        (
            ["strategy=tick"],
            ["loop/tinygram/tick", "asyncio/tick", "asyncio/tinygram/tick", "native/tick"],
        ),
        (["runtime=asyncio"], ASYNCIO),
        (["runtime=uvloop"], [*published("uvloop"), "uvloop/tick", *library("uvloop")]),
        (["runtime=uvloop,strategy=tick"], ["uvloop/tick", "uvloop/tinygram/tick"]),
        (
            ["implementation=stdlib"],
            [*published("loop"), *published("threads"), *published("asyncio"), "asyncio/tick"],
        ),
        (
            ["implementation=aiofastnet"],
            ["asyncio/aiofastnet/nodelay", "uvloop/aiofastnet/nodelay"],
        ),
        (["implementation=aiofastnet,runtime=uvloop"], ["uvloop/aiofastnet/nodelay"]),
    ],
)
def test_only_filters(only: list[str], expected: list[str]) -> None:
    assert ways(planned(*only)) == expected


@pytest.mark.parametrize(
    ("only", "runtimes", "strategies"),
    [
        (["runtime=asyncio,strategy=nagle"], ["asyncio"], ["nagle"]),
        (["strategy=cork"], [], ["cork"]),
        (["runtime=loop,runtime=native"], ["loop", "native"], []),
        (["strategy=nagle,strategy=coalesce:1ms"], [], ["nagle", "coalesce:1ms"]),
    ],
)
def test_options_of_their_own_say_the_same(
    only: list[str], runtimes: list[str], strategies: list[str]
) -> None:
    chosen = planned(runtimes=runtimes, strategies=strategies)
    assert ways(chosen) == ways(planned(*only))


def test_they_go_with_only() -> None:
    chosen = planned("implementation=tinygram", runtimes=["loop"], strategies=["tick"])
    assert ways(chosen) == ["loop/tinygram/tick"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"runtimes": ["twisted"]}, "--runtime twisted: unknown runtime 'twisted'; the known ones"),
        ({"strategies": ["often"]}, "--strategy often: unknown strategy 'often': the known ones"),
        ({"strategies": ["coalesce"]}, "--strategy coalesce: the strategy 'coalesce' needs a dura"),
        ({"only": ["loop/nodelay"], "runtimes": ["loop"]}, "--runtime and --strategy do not go"),
    ],
)
def test_what_they_refuse_is_told_by_their_names(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        planned(**asked)


@pytest.mark.parametrize("hold", ["1ns", "10us", "1500us", "250ms", "1s"])
def test_a_hold_may_be_of_any_duration(hold: str) -> None:
    plan = planned(f"strategy=coalesce:{hold},runtime=processes")
    assert ways(plan) == [f"processes/coalesce:{hold}"]
    assert f"/coalesce:{hold}/" in plan.cases[0].case_id


@pytest.mark.parametrize("same", ["10000ns", "0.01ms", "10us"])
def test_one_hold_has_one_name_however_it_is_written(same: str) -> None:
    assert ways(
        planned("runtime=processes", f"strategy=coalesce:{same},strategy=coalesce:10us")
    ) == ["processes/coalesce:10us"]


def test_every_way_runs_at_every_rate_under_a_name_of_its_own() -> None:
    rates = [1_000.0, 1_000.5, 1_000_000.0, 1_000_000.5, 1_000_001.0]
    plan = planned(rates_per_s=rates, has_all=True, duration_ns=10_000_000)
    assert len(plan.cases) == len(rates) * len(list(runtimes.all_ways()))
    assert len({case.case_id for case in plan.cases}) == len(plan.cases)


@pytest.mark.parametrize(
    "change",
    [
        {"message_bytes": MessageBytes(1, 501)},
        {"message_bytes": MessageBytes(500, 500)},
        {"rates_per_s": [10.0]},
        {"rates_per_s": [10.0], "arrival": "poisson"},
        {"rates_per_s": [10.0], "burst": 5},
    ],
)
def test_another_load_is_another_case(change: dict[str, Any]) -> None:
    ids = {case.case_id for case in planned().cases}
    other = {case.case_id for case in planned(**change).cases}
    assert len(other) == len(ids)
    assert not ids & other


def test_the_schedule_says_how_many_messages_a_paced_case_sends() -> None:
    [case] = planned("runtime=loop,strategy=cork", rates_per_s=[2_000.0]).cases
    assert StreamParameters.of(case).messages == 2_000
    [burst] = planned("runtime=loop,strategy=cork", rates_per_s=[2_000.0], burst=20).cases
    assert StreamParameters.of(burst).messages == 2_000


def test_a_rate_that_is_too_high_for_its_duration_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="--rate 1e\\+12 does not go with --duration"):
        planned(rates_per_s=[1e12], duration_ns=3_600_000_000_000)


def test_the_same_seed_runs_in_the_same_order_and_another_in_another() -> None:
    def order(seed: int, round: int) -> list[str]:
        return [case.case_id for case in ordered(planned(seed=seed), round)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(2, 0)
    # Each round has its own, and leaves nobody out.
    assert order(1, 0) != order(1, 1)
    assert sorted(order(1, 0)) == sorted(order(1, 1)) == sorted(order(2, 0))
    assert order(1, 0) != [case.case_id for case in planned().cases]


def test_a_plan_survives_its_file() -> None:
    plan = planned(has_all=True, rates_per_s=[10.0])
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


def test_every_way_can_be_named_as_the_tables_show_it() -> None:
    every = ways(planned(has_all=True))
    assert [ways(planned(way)) for way in every] == [[way] for way in every]


@pytest.mark.parametrize("remarks", [" (limit)", " (6 of 7)", " (limit) (6 of 7)"])
def test_a_name_is_taken_with_what_the_tables_say_after_it(remarks: str) -> None:
    named = f"native/nodelay{remarks},loop/nodelay"
    assert ways(planned(named)) == ["native/nodelay", "loop/nodelay"]


def test_several_names_are_all_measured_and_each_once() -> None:
    named = ["loop/nodelay,asyncio/tinygram/adaptive", "loop/coalesce:50us", "loop/nodelay"]
    assert ways(planned(*named)) == [
        "loop/nodelay",
        "asyncio/tinygram/adaptive",
        "loop/coalesce:50us",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "loop/",
        "loop/tinygram",
        "loop/nagle/x",
        "lop/nagle",
        "loop/stdlib/nagle/x",
        "/",
        "loop/nagle (x)",
    ],
)
def test_a_name_that_no_table_shows_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"--only '{name}'")):
        planned(name)
