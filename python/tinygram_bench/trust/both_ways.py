"""Every default case of `stream`, `rr` and `echo`, in slices (`CASE`) and alone (`CASE#lone`).

Messages are as in these commands, so that the loads differ from those of cases that are compared
with themselves; and cases are shorter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from tinygram_bench.links import DEFAULT_BACKEND, parse_links, plan_over
from tinygram_bench.model.result import Case, MessageBytes, Plan
from tinygram_bench.workloads.echo.cases import EchoOptions, plan_echo
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr
from tinygram_bench.workloads.stream.cases import StreamOptions, plan_stream

LONE = "lone"
LINK = "rtt=1ms"
_CASE_NS = 1_000_000_000
"""A case's time in a round, in slices and alone."""
_FLAT_OUT_NS = 200_000_000
"""The same flat out in slices, where messages on their way need time after each slice."""
_LOADS = (("loopback", 1_000.0), ("loopback", 10_000.0), ("loopback", None), (LINK, 1_000.0))
_STREAM_BYTES = MessageBytes(1, 500)
_ECHO_BYTES = 1_000
_LONE_MESSAGES = 200_000
"""The number of messages after which a flat-out stream that is alone ends."""
_TIMEOUT_NS = 120_000_000_000


def both_ways(shared: dict[str, Any]) -> Iterator[Case]:
    """Yields the cases. `shared`: the options that every workload has. Raises UsageError."""
    in_slices, alone = (
        {case.case_id: case for case in _cases(shared, takes_turns)}
        for takes_turns in (True, False)
    )
    for case_id, case in in_slices.items():
        # The only case of a load is alone either way, and is left out.
        if case.parameters.slice_ns is not None:
            yield case
            yield replace(alone[case_id], case_id=f"{case_id}#{LONE}")


def _cases(shared: dict[str, Any], takes_turns: bool) -> Iterator[Case]:
    plans = [_stream(shared, takes_turns, *load) for load in _LOADS]
    plans += [_rr(shared, takes_turns), _echo(shared, takes_turns)]
    for plan in plans:
        yield from plan.cases


def _stream(shared: dict[str, Any], takes_turns: bool, link: str, rate_per_s: float | None) -> Plan:
    return plan_over(
        parse_links([link]),
        DEFAULT_BACKEND,
        lambda spec: plan_stream(
            StreamOptions(
                messages=_LONE_MESSAGES,
                message_bytes=_STREAM_BYTES,
                rates_per_s=[] if rate_per_s is None else [rate_per_s],
                arrival="constant",
                burst=1,
                duration_ns=_FLAT_OUT_NS if rate_per_s is None else _CASE_NS,
                receive_buffer_bytes=256 << 10,
                receiver_command=None,
                link=spec.text,
                timeout_ns=_TIMEOUT_NS,
                has_all=False,
                takes_turns=takes_turns,
                **shared,
            )
        ),
    )


def _rr(shared: dict[str, Any], takes_turns: bool) -> Plan:
    asked = RrOptions(
        duration_ns=_CASE_NS, timeout_ns=_TIMEOUT_NS, takes_turns=takes_turns, **shared
    )
    return plan_rr(asked)


def _echo(shared: dict[str, Any], takes_turns: bool) -> Plan:
    asked = EchoOptions(
        message_bytes=[_ECHO_BYTES],
        workers=5,
        depth=1,
        reply="per-read",
        buffers_bytes=[64 << 10],
        messages=None,
        duration_ns=_CASE_NS,
        fault=None,
        external=None,
        link="loopback",
        timeout_ns=_TIMEOUT_NS,
        has_all=False,
        takes_turns=takes_turns,
        **shared,
    )
    return plan_echo(asked)
