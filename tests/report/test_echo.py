"""A result of `tinygram echo` as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from tests.support.measured.echo import measured
from tests.support.plans.echo import planned
from tests.support.printed_report import answer_in, printed, row

from tinygram_bench.statistics.workloads.loads import way_of
from tinygram_bench.workloads.echo.cases import External

RATES = {
    "asyncio/sock:64KiB": 20_000.0,
    "asyncio/protocol": 40_000.0,
    "threads/recv:64KiB": 50_000.0,
    "threads/recv_into:64KiB": 60_000.0,
    "threads/recv_into:64KiB:whole-buffer": 300_000.0,
    "native/epoll:64KiB": 160_000.0,
    "native/epoll:64KiB:whole-buffer": 400_000.0,
}


@pytest.fixture(scope="module")
def text() -> str:
    plan = planned(
        "runtime=asyncio,runtime=threads,runtime=native",
        "server=sock,server=protocol,server=recv,server=recv_into,server=epoll",
        "strategy=nodelay",
        fault="whole-buffer",
    )
    cases = tuple(case for case in plan.cases if way_of(case) in RATES)
    return printed(measured(msgspec.structs.replace(plan, cases=cases), RATES))


def test_the_heading_says_what_the_load_is(text: str) -> None:
    assert "echo closed loop, messages of 1000 B, over loopback, 5 connections" in text
    assert "depth 1, reply per-read" in text


def test_rates_are_set_against_a_protocol_on_asyncio(text: str) -> None:
    cells = row(text, "asyncio/protocol", "Messages echoed").split()
    assert cells[1] == "40.12k"
    assert cells[3:5] == ["1", "80.2"]
    assert row(text, "threads/recv_into:64KiB", "Messages echoed").split()[3] == "1.50"


def test_cpu_is_the_servers_for_a_million_messages(text: str) -> None:
    assert "CPU is the server's" in text
    # 0.9 s for 40,120 messages.
    assert "22.4" in row(text, "asyncio/protocol", "Messages echoed").split()


def test_round_trips_have_a_table_of_their_own(text: str) -> None:
    title = "Round trip, the next message sent when one has come back (us)"
    cells = row(text, "asyncio/protocol", title).split()
    assert 120 <= float(cells[3]) <= 126


def test_a_faulty_server_is_marked_and_wins_nothing(text: str) -> None:
    faulty = row(text, "threads/recv_into:64KiB:whole-buffer (faulty)", "Messages echoed")
    assert faulty.split()[4].endswith("?")
    answer = answer_in(text)
    assert (
        "threads, closed loop: recv_into:64KiB won: it echoes 1.20 times as many messages as the "
        "runner-up recv:64KiB (" in answer
    )
    assert "whole-buffer" not in answer


def winning(rates: Mapping[str, float]) -> str:
    plan = planned(
        "runtime=asyncio,implementation=stdlib", "server=sock,server=protocol,server=streams"
    )
    assert {way_of(case) for case in plan.cases} == set(rates)
    return answer_in(printed(measured(plan, rates)))


def test_the_answer_compares_with_the_base_and_calls_each_by_its_name() -> None:
    """Most servers are nodelay: the winner was said to beat `nodelay`, which it is itself."""
    rates = {"asyncio/sock:64KiB": 60_000.0, "asyncio/protocol": 20_000.0}
    answer = winning(rates | {"asyncio/streams:64KiB": 40_000.0})
    assert (
        "sock:64KiB won: it echoes 3.00 times as many messages as protocol (3.00-3.00) and 1.50 "
        "times as many as the runner-up streams:64KiB (" in answer
    )
    assert "nodelay" not in answer
    answer = winning(
        {"asyncio/protocol": 60e3, "asyncio/sock:64KiB": 20e3, "asyncio/streams:64KiB": 1e3}
    )
    assert "protocol won: it echoes 3.00 times as many messages as the runner-up sock" in answer
    assert "nodelay" not in answer


OTHER = External("127.0.0.1", 9000, "socat -v TCP-LISTEN:9000,fork EXEC:cat")


def answer_on_other(*only: str, rate_per_s: float) -> str:
    """What is said of a program that is not ours, beside some of ours at 40,000/s."""
    plan = planned(*only, external=OTHER)
    ours = {way_of(case): 40_000.0 for case in plan.cases}
    return answer_in(printed(measured(plan, ours | {"external/socat": rate_per_s})))


def test_a_program_that_is_not_ours_is_compared_with_each_of_ours() -> None:
    only = "runtime=asyncio,runtime=threads,implementation=stdlib"
    slower = answer_on_other(only, rate_per_s=4_200.0)
    assert (
        "socat is slower than ours: it echoes 0.10 times as many messages as asyncio/pro" in slower
    )
    assert "; and 4 more, at 98.4% confidence from 7 rounds." in slower
    faster = answer_on_other(only, rate_per_s=80_000.0)
    assert (
        "socat is faster than ours: it echoes 2.00 times as many messages as asyncio/pro" in faster
    )
    same = answer_on_other(only, rate_per_s=40_000.0)
    assert "socat is not shown to differ from ours: it echoes 1.000 times as many" in same


def test_a_program_beside_nothing_but_the_limit_is_compared_with_that() -> None:
    said = answer_on_other("runtime=native", rate_per_s=4_200.0)
    assert "0.10 times as many messages as native/epoll:64KiB, the limit (" in said


def test_a_program_that_is_not_ours_alone_is_compared_with_nothing_and_that_is_said() -> None:
    said = answer_on_other("runtime=external", rate_per_s=4_200.0)
    assert "none of ours was measured beside it" in said


def test_the_limit_is_no_contestant(text: str) -> None:
    assert "native" not in answer_in(text)
    assert "(limit)" in row(text, "native/epoll:64KiB (limit)", "Messages echoed")


def published_beside(size: int, rates: Mapping[str, float]) -> str:
    plan = planned(
        "implementation=stdlib,runtime=uvloop,runtime=threads",
        "server=protocol,server=recvmsg_into,strategy=nodelay",
        message_bytes=[size],
        buffers_bytes=[4096],
        fault="whole-buffer",
    )
    assert [way_of(case) for case in plan.cases] == list(rates)
    return printed(measured(plan, rates), published=True)


PUBLISHED_RATES = {
    "uvloop/protocol": 50_000.0,
    "threads/recvmsg_into:4KiB": 60_000.0,
    "threads/recvmsg_into:4KiB:whole-buffer": 150_000.0,
}
BESIDE = "Messages echoed beside the published ones, each / its own uvloop server"
SECOND = "The same beside its second table, of a second machine"


def test_the_published_servers_are_beside_ours_by_their_ratios() -> None:
    text = published_beside(1_000, PUBLISHED_RATES)
    threads = row(text, "threads/recvmsg_into:4KiB", BESIDE).split()
    assert threads[1:] == ["423.2k", "3.30", "1.20", "3.00"]


def test_what_the_second_table_repeats_or_leaves_empty_has_no_ratio() -> None:
    text = published_beside(1_000, PUBLISHED_RATES)
    assert row(text, "uvloop", SECOND).split()[1:] == ["34.63k", "1.00", "1.00"]
    assert row(text, "uvloop/streams", SECOND).split()[1:] == ["65.59k", "1.89", "-"]
    repeated = row(text, "threads:4KiB", SECOND).split()
    assert repeated[1:] == ["423.2k", "-", "1.20", "repeats", "the", "first"]
    largest = published_beside(65_536, PUBLISHED_RATES)
    empty = row(largest, "uvloop/streams", SECOND).split()
    assert empty[1:] == ["-", "-", "-", "was", "left", "empty"]


def test_sizes_that_were_not_published_have_no_such_table() -> None:
    assert BESIDE not in published_beside(100, PUBLISHED_RATES)
