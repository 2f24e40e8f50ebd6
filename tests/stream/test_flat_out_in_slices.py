"""`tinygram stream --slice` flat out: what came in the middle of each slice."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.command import Command
from tests.support.plans.stream import planned

from tinygram_bench import _native
from tinygram_bench.model.parameters import StreamParameters, StudySwitches
from tinygram_bench.model.result import MessageBytes
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.runs.slices import Slices
from tinygram_bench.workloads.stream.order import Order, Report
from tinygram_bench.workloads.stream.outcome import _hand_overs, _messages_of_each
from tinygram_bench.workloads.stream.run import Stream
from tinygram_bench.workloads.stream.slices import _handed_over

SLICED = ("--slice", "20ms", "--duration", "200ms", "--size", "1-200", "--rounds", "1")
SLICES = 10
"""Enough that a busy host does not keep a sender or its receiver from the middle of each slice."""


def check(command: Command, *words: str) -> None:
    done = command.run(*SLICED, *words)
    assert done.code == 0, done.stderr
    assert done.runs
    for run in done.runs:
        assert run["failure"] is None, run["failure"]
        counters = run["counters"]
        assert counters["slices"] == SLICES
        per_s = run["slices"]["throughput_per_s"]
        assert len(per_s) == SLICES
        assert counters["middle_ns"] == SLICES * 14_000_000
        # What is corked may fill no segment within a slice.
        if "/cork/" not in run["case_id"]:
            assert any(each is not None for each in per_s)
            # A sender that gets its core late in each slice hands over nothing while that settles.
            assert 0 < counters["middle_messages"] <= counters["messages"]
        assert len(run["slices"]["cpu_s_per_million"]) == SLICES
    figures = {each["figure"] for each in done.result["verdicts"]}
    assert figures <= {
        "throughput_per_s",
        "cpu_s_per_million",
        "queueing_mean_us",
        "queueing_p99_us",
        "queueing_p99_9_us",
    }


def test_every_runtime_takes_turns_flat_out(command: Command) -> None:
    strategies = ("nodelay", "cork", "adaptive", "tick", "timer:10us")
    check(command, "--all", *(word for name in strategies for word in ("--strategy", name)))


@pytest.mark.parametrize("runtime", ["threads"])
def test_producers_hand_over_in_slices_alone(command: Command, runtime: str) -> None:
    check(command, "--producers", "3", "--runtime", runtime)


def test_a_receiver_of_somebody_else_is_told_that_the_stream_may_end_early(
    command: Command,
) -> None:
    words = f"{sys.executable} -m tinygram_bench.workloads.stream.receiver"
    only = ("--runtime", "loop", "--strategy", "nodelay", "--strategy", "tick")
    check(command, "--receiver-command", words, *only)


def order_of(slices: Slices, *, producers: int = 1, warm_up: int = 10) -> Order:
    return Order(
        port=1,
        runtime="threads",
        implementation="stdlib",
        strategy=parse_strategy("nodelay"),
        seed=1,
        min_bytes=1,
        max_bytes=9,
        messages=1 << 30,
        warm_up=warm_up,
        pace=None,
        congestion_control="cubic",
        counter_fds=None,
        producers=producers,
        slices=slices,
    )


def report_of(hand_overs_ns: list[int], *handed_over: int) -> Report:
    return Report(1, 1_000, hand_overs_ns, {}, {}, handed_over=handed_over)


def test_what_was_handed_over_is_of_the_slice_that_it_was_handed_over_in() -> None:
    slices = Slices((0, 1_000), 100, 20)
    # 64 messages by 1,010, 128 by 1,030, 192 by 1,050, and 8 more.
    report = report_of([1_000, 1_010, 1_030, 1_050, 2_005], 256 + 3)
    order = order_of(slices)
    of_each = _messages_of_each(order, report)
    hand_overs = _hand_overs(order, report, of_each)
    assert [index for index, _ in hand_overs[0]] == [10, 74, 138, 202, 266]
    # While a slice settles, too: that is paid for with the rest.
    assert _handed_over(hand_overs, report, slices) == [256, 3]


def test_each_producer_has_hand_overs_of_its_own() -> None:
    slices = Slices((0,), 100, 0)
    report = report_of([1_000, 1_001, 1_002], 65, 2)
    order = order_of(slices, producers=2, warm_up=3)
    hand_overs = _hand_overs(order, report, _messages_of_each(order, report))
    assert hand_overs == [[(3, 1_000), (131, 1_001)], [(4, 1_002)]]
    with pytest.raises(ValueError, match="noted 2 hand-overs"):
        _hand_overs(order, report_of([1_000, 1_001], 65, 2), (65, 2))


def test_the_native_match_finds_what_came_in_the_middle_of_a_slice() -> None:
    pool = _native.MessagePool(1, 10, 10)
    note = [(1_005, 20), (1_030, 50), (1_070, 90), (1_120, 110)]
    notes = b"".join(
        bytes_so_far.to_bytes(8, "little") + at_ns.to_bytes(8, "little")
        for at_ns, bytes_so_far in note
    )
    found = _native.match_flat_out_sliced(
        notes, pool, [(2, 1_015), (10, 1_030)], 1_000, ([0], 100, 10), (10, 80)
    )
    queueing, of_each, middles, early_ns = found
    assert of_each == [[15, 90]]
    assert queueing.count == 2
    assert middles == [(7, 20)]
    assert early_ns == 0


def test_over_a_link_cases_take_turns_too(command: Command) -> None:
    words = ("--slice", "40ms", "--duration", "400ms", "--rounds", "1", "--size", "100")
    ways = ("--runtime", "loop", "--strategy", "nodelay", "--only", "implementation=tinygram")
    done = command.run(*words, *ways, "--strategy", "tick", "--link", "rtt=2ms,bandwidth=50mbit")
    assert done.code == 0, done.stderr
    for run in done.runs:
        assert run["failure"] is None
        assert run["counters"]["slices"] == SLICES
        assert any(each is not None for each in run["slices"]["throughput_per_s"])
    codes = {warning["code"] for run in done.runs for warning in run["warnings"]}
    assert "windows_restart" not in codes


def waits_ms(link: str, strategy: str, runtime: str = "loop", **load: Any) -> float:
    case = planned(link=link, runtimes=(runtime,), strategies=(strategy,), **load).cases[0]
    assert case.is_flat_out == ("rates_per_s" not in load)
    return Stream(1).waits_ns(case) / 1e6


SMALL: dict[str, Any] = {"message_bytes": MessageBytes(1, 100)}


def test_small_messages_behind_nagle_that_come_one_by_one_are_acknowledged_at_once() -> None:
    for rate_per_s, waiting_ms in ((1_000.0, 0), (50_000.0, 0), (200_000.0, 45)):
        assert waits_ms("loopback", "nagle", rates_per_s=(rate_per_s,), **SMALL) == waiting_ms
    slow: dict[str, Any] = {"rates_per_s": (1_000.0,)}
    assert waits_ms("rtt=1ms", "nagle", **slow, **SMALL) == 47
    assert waits_ms("loopback", "nagle", **slow, message_bytes=MessageBytes(1, 524)) == 45
    assert waits_ms("loopback", "nagle", **slow, **SMALL, burst=4) == 45
    assert waits_ms("loopback", "nagle", **slow, **SMALL, tls=(True,)) == 45
    for rate_per_s, waiting_ms in ((10_000.0, 0), (50_000.0, 45)):
        poisson: dict[str, Any] = {"rates_per_s": (rate_per_s,), "arrival": "poisson"}
        assert waits_ms("loopback", "nagle", **poisson, **SMALL) == waiting_ms
    assert waits_ms("loopback", "nagle", **slow, **SMALL, receiver_command="receive") == 45
    (case, *_) = planned(strategies=("nagle",), **slow, **SMALL).cases
    assert Stream(1).waits_elsewhere_ns(case) == 45_000_000


def test_nobody_waits_for_what_is_pushed_out_at_a_rate() -> None:
    def waiting_ms(**asked: Any) -> float:
        case = planned(runtimes=("threads",), strategies=("nagle",), **asked).cases[0]
        study = StudySwitches(pushes_out=True)
        parameters = replace(StreamParameters.of(case), study=study)
        return Stream(1).waits_ns(replace(case, parameters=parameters)) / 1e6

    paced: dict[str, Any] = {"rates_per_s": (10_000.0,), "burst": 16}
    assert waiting_ms(**paced) == 0
    assert waiting_ms(**paced, link="rtt=1ms") == 2
    assert waiting_ms(**paced, producers=(2,)) == 45
    assert waiting_ms() == 55


def test_what_waits_for_a_line_or_an_acknowledgement_arrives_before_the_next_slice() -> None:
    assert waits_ms("loopback", "nodelay") == 0
    assert waits_ms("loopback", "coalesce:10ms") == 10
    # A delayed acknowledgement, what is corked, what is queued.
    assert waits_ms("loopback", "nagle") == 45
    assert waits_ms("loopback", "cork") == 220
    assert waits_ms("loopback", "nodelay", "processes") == 10
    # 50 kB on the line and 256 kB in its queue, three times, at 100 Mbit/s; and two round trips.
    assert waits_ms("rtt=4ms,bandwidth=100mbit,queue=256kb", "nodelay") == pytest.approx(81.4, 0.1)
