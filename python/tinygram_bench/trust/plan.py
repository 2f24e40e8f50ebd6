"""The cases of `tinygram trust`: one for each load, the same again, and planted differences.

The names tell them apart: `CASE#again`, `CASE#spin`, `CASE#sleep`, `CASE#byte`, `CASE#frozen`. To
add a load, add a function that makes its case, and a line in `_cases`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.model.parameters import StreamParameters, StudySwitches
from tinygram_bench.model.result import Case, MessageBytes, Plan
from tinygram_bench.runs.slices import SLICE_NS, stream_slice_ns
from tinygram_bench.trust.both_ways import both_ways
from tinygram_bench.workloads.echo.cases import EchoOptions, plan_echo
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr
from tinygram_bench.workloads.stream.cases import StreamOptions, plan_stream

TRUST = "trust"
"""The study's name in a result."""
AGAIN, SPIN, SLEEP, BYTE, FROZEN = "again", "spin", "sleep", "byte", "frozen"
FROZEN_RUN_NS = 5_000_000_000
FROZEN_NS = 500_000_000
"""How long the receiver is stopped in a run of FROZEN_RUN_NS."""
FROZEN_RATE_PER_S = 1_000.0
BYTES = 100
_PACED_SPIN_NS = {1_000.0: 2_000, 10_000.0: 1_000}
_FLAT_OUT_SPIN_NS = 300
_SLEEP_NS = 200_000
_TIMEOUT_NS = 120_000_000_000


class TrustOptions(Struct, frozen=True):
    """The options of `tinygram trust`.

    `duration_ns`: the time of a case's slices in a round, together. `is_against_lone`: also measure
    every default case of `stream`, `rr` and `echo` in slices and alone.
    """

    duration_ns: int
    rounds: int
    seed: int
    congestion_control: str
    placement: str
    is_against_lone: bool = False

    @property
    def shared(self) -> dict[str, Any]:
        """The options that every workload has."""
        return {
            "congestion_control": self.congestion_control,
            "placement": self.placement,
            "rounds": self.rounds,
            "seed": self.seed,
        }


def plan_trust(options: TrustOptions) -> Plan:
    """The plan. Raises UsageError where not even these cases can run."""
    cases = {case.case_id: case for case in _cases(options)}
    return Plan(tuple(cases.values()), options.rounds, options.seed, ())


def variant_of(case_id: str) -> tuple[str, str]:
    """The case from which a variant differs, and the variant's name: `("stream/…", "spin")`."""
    base, _, variant = case_id.partition("#")
    return base, variant


def _cases(options: TrustOptions) -> Iterator[Case]:
    for rate_per_s, spin_ns in _PACED_SPIN_NS.items():
        paced = _planted(_stream(options, rate_per_s))
        yield from (paced, _named(paced, AGAIN), _planted(paced, SPIN, spin_ns=spin_ns))
        if rate_per_s == max(_PACED_SPIN_NS):
            yield _planted(paced, SLEEP, sleep_ns=_SLEEP_NS)
        else:
            yield _planted(paced, BYTE, more_bytes=1)
    flat_out = _planted(_stream(options, None))
    yield from (flat_out, _named(flat_out, AGAIN))
    yield _planted(flat_out, SPIN, spin_ns=_FLAT_OUT_SPIN_NS)
    for case in (_rr(options), _echo(options)):
        yield from (case, _named(case, AGAIN))
    alone = replace(options, duration_ns=FROZEN_RUN_NS)
    yield _named(_stream(alone, FROZEN_RATE_PER_S, is_alone=True), FROZEN)
    if options.is_against_lone:
        yield from both_ways(options.shared)


def _named(case: Case, variant: str) -> Case:
    return replace(case, case_id=f"{case.case_id}#{variant}")


def _planted(
    case: Case, variant: str = "", *, spin_ns: int = 0, sleep_ns: int = 0, more_bytes: int = 0
) -> Case:
    """The case with a planted difference; without one, messages still come by the same code."""
    study = StudySwitches(spin_ns=spin_ns + 1, sleep_ns=sleep_ns, more_bytes=more_bytes)
    planted = replace(case, parameters=replace(StreamParameters.of(case), study=study))
    return _named(planted, variant) if variant else planted


def _stream(options: TrustOptions, rate_per_s: float | None, *, is_alone: bool = False) -> Case:
    asked = StreamOptions(
        messages=0,
        message_bytes=MessageBytes(BYTES, BYTES),
        rates_per_s=[] if rate_per_s is None else [rate_per_s],
        arrival="constant",
        burst=1,
        duration_ns=options.duration_ns,
        receive_buffer_bytes=256 << 10,
        receiver_command=None,
        link="loopback",
        timeout_ns=_TIMEOUT_NS + options.duration_ns,
        has_all=False,
        only=("loop/nodelay",),
        slice_ns=None if is_alone else stream_slice_ns(rate_per_s),
        **options.shared,
    )
    return plan_stream(asked).cases[0]


def _rr(options: TrustOptions) -> Case:
    asked = RrOptions(
        strategies=("nodelay",),
        connections=("per-caller",),
        sends_per_request=(1,),
        request_bytes=BYTES,
        reply_bytes=BYTES,
        processes=1,
        callers=1,
        duration_ns=options.duration_ns,
        slice_ns=SLICE_NS,
        timeout_ns=_TIMEOUT_NS + options.duration_ns,
        **options.shared,
    )
    return plan_rr(asked).cases[0]


def _echo(options: TrustOptions) -> Case:
    asked = EchoOptions(
        message_bytes=[BYTES],
        workers=1,
        depth=1,
        reply="per-read",
        buffers_bytes=[64 << 10],
        messages=None,
        duration_ns=options.duration_ns,
        fault=None,
        external=None,
        link="loopback",
        timeout_ns=_TIMEOUT_NS,
        has_all=False,
        runtimes=("asyncio",),
        strategies=("nodelay",),
        only=("server=protocol",),
        slice_ns=SLICE_NS,
        **options.shared,
    )
    return plan_echo(asked).cases[0]
