"""Which cases take turns in slices without being asked to, and how long their slices are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.plans import echo, stream

from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Case, MessageBytes, Plan
from tinygram_bench.statistics.workloads.loads import loads_of
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr

MS = 1_000_000
LOOPS = ("loop/nagle", "loop/nodelay")


def slices_ms(plan: Plan) -> list[float | None]:
    lengths_ns = [case.parameters.slice_ns for case in plan.cases]
    return [None if length_ns is None else length_ns / MS for length_ns in lengths_ns]


def flat_out_of(case: Case) -> tuple[bool, int | None]:
    parameters = StreamParameters.of(case)
    return parameters.messages == 1_000, parameters.duration_ns


@pytest.mark.parametrize(
    ("rate_per_s", "slice_ms"), [(None, 20), (10_000, 10), (1_000, 20), (500, 40), (20, 1_000)]
)
def test_a_slice_of_a_stream_has_twenty_messages(rate_per_s: float | None, slice_ms: float) -> None:
    rates = [] if rate_per_s is None else [float(rate_per_s)]
    plan = stream.planned(*LOOPS, takes_turns=True, rates_per_s=rates)
    assert slices_ms(plan) == [slice_ms] * 2


def test_a_far_sender_has_no_more_slices_than_it_can_be_told() -> None:
    minute: dict[str, Any] = {"rates_per_s": [10_000.0], "duration_ns": 60_000 * MS}
    assert slices_ms(stream.planned(*LOOPS, takes_turns=True, **minute)) == [10] * 2
    plan = stream.planned(*LOOPS, takes_turns=True, directions=("reverse",), **minute)
    assert slices_ms(plan) == [15] * 2


def test_a_stream_that_is_too_short_for_a_slice_is_alone() -> None:
    plan = stream.planned(*LOOPS, takes_turns=True, rates_per_s=[19.0])
    assert slices_ms(plan) == [None] * 2


def test_flat_out_cases_in_turns_end_with_their_time_and_others_with_their_messages() -> None:
    together = stream.planned(*LOOPS, takes_turns=True)
    assert [flat_out_of(case) for case in together.cases] == [(False, 1_000 * MS)] * 2
    alone = stream.planned("loop/nagle", takes_turns=True)
    assert [flat_out_of(case) for case in alone.cases] == [(True, None)]
    assert slices_ms(alone) == [None]


def test_servers_of_a_load_have_slices_of_one_length_however_long_their_strategies_hold() -> None:
    plan = echo.planned(
        "runtime=asyncio,implementation=tinygram,server=protocol",
        strategies=["nodelay", "coalesce:2ms"],
        takes_turns=True,
    )
    # 41 ms are twenty messages that are held for 2 ms, in slices that fill the time.
    assert len(set(slices_ms(plan))) == 1
    assert len(loads_of(plan.cases)) == 1


def test_a_length_that_was_asked_for_holds_for_all() -> None:
    plan = stream.planned("loop/nagle", takes_turns=True, slice_ns=30 * MS)
    assert slices_ms(plan) == [30]


def test_nothing_takes_turns_that_shall_not() -> None:
    assert slices_ms(stream.planned(*LOOPS)) == [None] * 2
    assert slices_ms(echo.planned("runtime=threads", messages=100)).count(None) > 1


@pytest.mark.parametrize(
    ("link", "slice_ms"), [("loopback", 20), ("rtt=5ms", 100), ("rtt=100ms", None)]
)
def test_a_slice_on_a_link_has_time_for_twenty_round_trips(
    link: str, slice_ms: float | None
) -> None:
    echoes = echo.planned("runtime=threads", takes_turns=True, link=link)
    assert len(echoes.cases) > 1
    assert slices_ms(echoes) == [slice_ms] * len(echoes.cases)
    calls = plan_rr(RrOptions(connections=("per-caller",), takes_turns=True, link=link))
    assert slices_ms(calls) == [slice_ms] * 4


def test_calls_that_are_counted_are_alone() -> None:
    assert slices_ms(plan_rr(RrOptions(takes_turns=True, calls=3))) == [None] * 8


def test_calls_that_differ_in_more_than_their_strategy_are_alone() -> None:
    options = RrOptions(
        strategies=("nodelay",), connections=("per-caller", "shared"), takes_turns=True
    )
    assert slices_ms(plan_rr(options)) == [None] * 4


@pytest.mark.parametrize(
    ("link", "slice_ms"), [("rtt=1ms", 20), ("rtt=5ms", 100), ("rtt=20ms", 500), ("rtt=60ms", None)]
)
@pytest.mark.parametrize("rates", [[], [10_000.0]], ids=["flat out", "paced"])
def test_a_slice_of_a_stream_has_twenty_round_trips_and_fills_its_time(
    rates: list[float], link: str, slice_ms: float | None
) -> None:
    plan = stream.planned(*LOOPS, takes_turns=True, rates_per_s=rates, link=link)
    assert slices_ms(plan) == [slice_ms] * 2


@pytest.mark.parametrize(("size", "slice_ms"), [(1_000, 20), (65_536, 21), (1 << 20, 500)])
def test_a_slice_has_time_for_twenty_bursts_of_large_messages(size: int, slice_ms: float) -> None:
    sizes = MessageBytes(size, size)
    plan = stream.planned(*LOOPS, takes_turns=True, message_bytes=sizes)
    for found in slices_ms(plan):
        assert found == pytest.approx(slice_ms, rel=0.02)


@pytest.mark.parametrize("rate_per_s", [300.0, 10_000.0])
@pytest.mark.parametrize("asked_ms", [None, 70])
def test_a_case_has_the_messages_that_are_due_in_whole_slices(
    rate_per_s: float, asked_ms: int | None
) -> None:
    asked_ns = None if asked_ms is None else asked_ms * MS
    plan = stream.planned(*LOOPS, takes_turns=True, rates_per_s=[rate_per_s], slice_ns=asked_ns)
    for case in plan.cases:
        found = StreamParameters.of(case)
        assert found.slice_ns is not None
        assert found.duration_ns is not None
        assert found.duration_ns % found.slice_ns == 0
        assert 900 * MS < found.duration_ns <= 1_000 * MS
        assert found.messages == round(rate_per_s * found.duration_ns / 1e9)
