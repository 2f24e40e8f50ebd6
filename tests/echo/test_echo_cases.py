"""What `tinygram echo` plans: which servers, under which names, in which order."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.support.plans.echo import planned

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import EchoParameters
from tinygram_bench.model.result import Plan
from tinygram_bench.statistics.workloads.loads import Load, is_base, way_of
from tinygram_bench.workloads.echo.cases import External
from tinygram_bench.workloads.echo.servers import SERVERS
from tinygram_bench.workloads.turns import warm_up_messages

LOOP = [
    "{}/sock:64KiB",
    "{}/streams:64KiB",
    "{}/protocol",
    "{}/buffered-protocol:64KiB",
    "{}/tinygram/protocol/adaptive",
]
THREADS = [
    "threads/recv:64KiB",
    "threads/recv_into:64KiB",
    "threads/recvmsg_into:64KiB",
    "threads/tinygram/recv_into:64KiB/adaptive",
]
LIMIT = ["native/epoll:64KiB"]
DEFAULT = [way.format(runtime) for runtime in ("asyncio", "uvloop") for way in LOOP]


def ways(plan: Plan) -> list[str]:
    return [way_of(case) for case in plan.cases]


def test_by_default_every_server_by_hand_one_of_the_library_on_each_runtime_and_the_limit() -> None:
    assert ways(planned()) == DEFAULT + THREADS + LIMIT


def test_runtime_and_strategy_have_options_of_their_own() -> None:
    only = "implementation=tinygram,server=protocol"
    chosen = planned(only, runtimes=["uvloop"], strategies=["nagle", "tick"])
    assert ways(chosen) == ["uvloop/tinygram/protocol/nagle", "uvloop/tinygram/protocol/tick"]
    with pytest.raises(UsageError, match="--runtime trio: unknown runtime 'trio'"):
        planned(runtimes=["trio"])


def test_per_message_the_strategies_decide_the_writes() -> None:
    plan = planned("implementation=tinygram,server=protocol", reply="per-message")
    assert ways(plan) == [
        f"{runtime}/tinygram/protocol/{strategy}"
        for runtime in ("asyncio", "uvloop")
        for strategy in ("tick", "adaptive")
    ]
    assert ways(planned("runtime=native", reply="per-message")) == [
        "native/epoll:64KiB",
        "native/epoll:64KiB/tick",
    ]


def test_all_is_every_server_strategy_and_size_of_buffer() -> None:
    plan = planned(has_all=True, buffers_bytes=[4096, 65_536])
    expected = sum(len(server.strategies) * (2 if server.has_buffer else 1) for server in SERVERS)
    assert len(plan.cases) == expected
    assert len({case.case_id for case in plan.cases}) == expected


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (["server=recv"], ["threads/recv:64KiB"]),
        (["runtime=asyncio,server=sock"], ["asyncio/sock:64KiB"]),
        (
            ["server=protocol,strategy=nagle"],
            [
                "asyncio/protocol/nagle",
                "asyncio/tinygram/protocol/nagle",
                "uvloop/protocol/nagle",
                "uvloop/tinygram/protocol/nagle",
            ],
        ),
        (
            ["runtime=asyncio,implementation=tinygram"],
            [
                "asyncio/tinygram/streams:64KiB/adaptive",
                "asyncio/tinygram/protocol/adaptive",
                "asyncio/tinygram/buffered-protocol:64KiB/adaptive",
            ],
        ),
        (
            ["runtime=native,strategy=coalesce:1ms"],
            ["native/epoll:64KiB/coalesce:1ms"],
        ),
        (["implementation=stdlib,runtime=threads"], THREADS[:3]),
    ],
)
def test_only_filters(only: list[str], expected: list[str]) -> None:
    assert ways(planned(*only)) == expected


def test_each_size_of_a_buffer_is_a_case_but_where_the_event_loop_has_its_own() -> None:
    plan = planned("runtime=asyncio,implementation=stdlib", buffers_bytes=[4096, 16_384])
    assert ways(plan) == [
        "asyncio/sock:4KiB",
        "asyncio/sock:16KiB",
        "asyncio/streams:4KiB",
        "asyncio/streams:16KiB",
        "asyncio/protocol",
        "asyncio/buffered-protocol:4KiB",
        "asyncio/buffered-protocol:16KiB",
    ]
    assert [EchoParameters.of(case).buffer_bytes for case in plan.cases[:2]] == [4096, 16_384]
    assert sum(is_base(case) for case in plan.cases) == 1


def test_a_faulty_server_runs_beside_the_honest_one() -> None:
    plan = planned("runtime=threads,implementation=stdlib", fault="whole-buffer")
    assert ways(plan) == [
        "threads/recv:64KiB",
        "threads/recv_into:64KiB",
        "threads/recv_into:64KiB:whole-buffer",
        "threads/recvmsg_into:64KiB",
        "threads/recvmsg_into:64KiB:whole-buffer",
    ]


def test_a_fault_that_no_server_has_is_refused() -> None:
    with pytest.raises(UsageError, match="--faulty whole-buffer is for servers with a buffer"):
        planned("runtime=asyncio", fault="whole-buffer")


def test_another_program_runs_beside_whatever_is_named_of_ours() -> None:
    external = External("127.0.0.1", 9000, "socat -v TCP-LISTEN:9000,fork EXEC:cat")
    assert ways(planned(external=external)) == [*DEFAULT, *THREADS, *LIMIT, "external/socat"]
    assert ways(planned("runtime=external", external=external)) == ["external/socat"]
    both = planned("runtime=native,runtime=external", external=external)
    assert ways(both) == [*LIMIT, "external/socat"]
    assert ways(planned("runtime=native", external=external)) == [*LIMIT, "external/socat"]
    by_strategy = planned("server=protocol,strategy=nagle", external=external)
    assert "external/socat" in ways(by_strategy)
    assert {EchoParameters.of(case).server_address for case in both.cases} == {
        None,
        "127.0.0.1:9000",
    }
    running = External("127.0.0.1", 9000, None)
    assert ways(planned("runtime=external", external=running)) == ["external/127.0.0.1:9000"]


@pytest.mark.parametrize(
    "change",
    [{"message_bytes": [999]}, {"workers": 4}, {"depth": 2}, {"reply": "per-message"}],
)
def test_another_load_is_another_case_and_another_load(change: dict[str, Any]) -> None:
    only = "server=protocol,implementation=stdlib"
    ours, other = planned(only).cases[0], planned(only, **change).cases[0]
    assert ours.case_id != other.case_id
    assert Load.of(ours) != Load.of(other)


def test_each_size_is_measured_once() -> None:
    plan = planned("server=recv", message_bytes=[1_000, 4_096, 1_000])
    assert [case.message_bytes.max for case in plan.cases] == [1_000, 4_096]


def test_what_warms_up_is_bounded_and_never_less_than_what_is_in_flight() -> None:
    assert warm_up_messages(1_000, 5) == 1024
    assert warm_up_messages(65_536, 5) == 64
    assert warm_up_messages(65_536, 320) == 320


def test_a_plan_survives_its_file() -> None:
    plan = planned(has_all=True, fault="whole-buffer")
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


@pytest.mark.parametrize("reply", ["per-read", "per-message"])
def test_every_server_can_be_named_as_the_tables_show_it(reply: str) -> None:
    every = [way_of(case) for case in planned(has_all=True, reply=reply).cases]
    found = [[way_of(case) for case in planned(way, reply=reply).cases] for way in every]
    assert found == [[way] for way in every]


def test_a_buffer_that_is_not_measured_is_refused_with_the_option() -> None:
    with pytest.raises(UsageError, match="name the size of the buffer with --buffer"):
        planned("threads/recv:1KiB")
