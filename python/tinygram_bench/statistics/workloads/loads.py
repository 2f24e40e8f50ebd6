"""Loads: what is asked of the sender. Cases compete only where their load is the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.model.parameters import EchoParameters, FanoutParameters, RrParameters
from tinygram_bench.model.result import Case, MessageBytes, Run
from tinygram_bench.model.strategies import IO_URING
from tinygram_bench.statistics.workloads import WORKLOADS

LIMIT_RUNTIME = "native"
_OF_BLOCKS = "_p99_9_us"
"""The ending of figures that are compared only in slices, in blocks of 5,000 messages."""
EXTERNAL = "external"
"""The runtime, and the implementation, of a server that is not ours."""
SLICE_LASTED = "slice_lasted_ns"
"""The counter of a run of how long its slices were; runs of earlier versions have none."""


class Load(Struct, frozen=True):
    """All of a case but how it sends (runtime, implementation, strategy) and its parameters.

    `parameters`: those that belong to the load of its workload, and their values.
    """

    workload: str
    message_bytes: MessageBytes
    rate_per_s: float | None
    arrival: str | None
    burst: int | None
    link: str
    producers: int
    connections: int
    placement: str
    busy_thread: bool
    tls: bool = False
    direction: str | None = None
    bidirectional: bool = False
    slice_ns: int | None = None
    parameters: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, case: Case) -> Load:
        named = set(cls.__struct_fields__) - {
            "busy_thread",
            "tls",
            "direction",
            "bidirectional",
            "slice_ns",
            "parameters",
        }
        return cls(
            **{name: getattr(case, name) for name in named},
            busy_thread=getattr(case.parameters, "busy_thread", False),
            tls=getattr(case.parameters, "tls", False),
            direction=getattr(case.parameters, "direction", None),
            bidirectional=getattr(case.parameters, "bidirectional", False),
            slice_ns=case.parameters.slice_ns,
            parameters=tuple(
                (name, getattr(case.parameters, name))
                for name in WORKLOADS[case.workload].load_parameters
            ),
        )

    @property
    def is_flat_out(self) -> bool:
        """Whether messages are sent as fast as the sender can."""
        return self.rate_per_s is None

    @property
    def is_closed_loop(self) -> bool:
        """Whether each reply triggers the next message."""
        return WORKLOADS[self.workload].is_closed_loop and self.rate_per_s is None

    @property
    def compared_figures(self) -> tuple[str, ...]:
        """The figures that verdicts are given on; the first is the one that contests are won by."""
        workload = WORKLOADS[self.workload]
        figures = workload.compared if self.is_flat_out else workload.compared_paced
        if self.slice_ns is not None:
            # A case that takes turns has no time of its own, but CPU time that is worth a verdict.
            # Percentiles that need more messages than a slice has are compared in blocks of slices,
            # up to p99.9.
            own = {
                "run_time_s": "cpu_s_per_million",
                "queueing_p99_99_us": "queueing_p99_9_us",
            }
            return tuple(own.get(figure, figure) for figure in figures)
        return tuple(figure for figure in figures if not figure.endswith(_OF_BLOCKS))


def alternates(case: Case) -> bool:
    """Whether single samples of the case alternate with those of others, on one stage."""
    return bool(getattr(case.parameters, "alternates", False))


def is_alone(case: Case) -> bool:
    """Whether each run of the case is alone: it takes turns neither in slices nor by samples."""
    return case.parameters.slice_ns is None and not alternates(case)


def turns_of(case: Case) -> Hashable:
    """The key of the cases that take turns, if they do; both directions at once share one."""
    side_by_side = WORKLOADS[case.workload].side_by_side
    if side_by_side is not None:
        return side_by_side(case)
    load = Load.of(case)
    return replace(load, direction=None) if load.bidirectional else load


def turns_taken(case: Case, runs: Iterable[Run]) -> Hashable:
    """The key of the cases that took turns with each other in these runs of the case.

    In earlier versions runtimes of `rr`, of callers and of servers, took their turns apart. Their
    runs do not tell how long slices lasted.
    """
    asked = case.parameters
    if isinstance(asked, RrParameters) and any(SLICE_LASTED not in run.counters for run in runs):
        return turns_of(case), case.runtime, asked.server_runtime
    return turns_of(case)


def loads_of(cases: Iterable[Case]) -> tuple[Load, ...]:
    """Every load once, in the order of first appearance."""
    return tuple(dict.fromkeys(Load.of(case) for case in cases))


def is_limit(case: Case) -> bool:
    """Whether the case shows what the machine can do, and so competes with nobody."""
    return case.runtime == LIMIT_RUNTIME


def is_faulty(case: Case) -> bool:
    """Whether the case shows what a fault does to the figures, and so competes with nobody."""
    return getattr(case.parameters, "fault", None) is not None


def is_external(case: Case) -> bool:
    """Whether the server is not ours: it is compared with each of ours, of whatever runtime."""
    return case.runtime == EXTERNAL


def is_base(case: Case) -> bool:
    """Whether all others of its workload are measured against it."""
    way = (case.runtime, case.implementation, case.strategy, server_of(case))
    return way == WORKLOADS[case.workload].base


def server_of(case: Case) -> str | None:
    """The server under test, with the size of its buffer; None where there is none."""
    if isinstance(case.parameters, EchoParameters | FanoutParameters):
        return case.parameters.server
    return None


def way_of(case: Case) -> str:
    """How the case sends, in words: `asyncio/nagle`, `asyncio/tinygram/adaptive`.

    With a server under test: `asyncio/protocol`, `asyncio/tinygram/protocol/tick`.
    """
    is_usual_limit = is_limit(case) and case.implementation != IO_URING
    is_by_hand = is_usual_limit or case.implementation in ("stdlib", case.runtime)
    implementation = () if is_by_hand else (case.implementation,)
    server = server_of(case)
    if server is None:
        return "/".join((case.runtime, *implementation, case.strategy))
    strategy = () if case.strategy in ("nodelay", "unknown") else (case.strategy,)
    return "/".join((case.runtime, *implementation, server, *strategy))


def load_name(case: Case) -> str:
    """`stream 10,000/s`, `stream flat out in reverse`, `fanout 100/s`, `rr 1,000/s`, `echo`."""
    if case.rate_per_s is None and case.workload not in ("stream", "fanout"):
        return case.workload
    rate = "flat out" if case.rate_per_s is None else f"{case.rate_per_s:,.10g}/s"
    load = Load.of(case)
    direction = " in reverse" if load.direction == "reverse" else ""
    if load.bidirectional:
        direction = f" {load.direction} of both directions"
    return f"{case.workload} {rate}{direction}"


def case_names(cases: Iterable[Case]) -> dict[str, str]:
    """Case id → its way and load in a few words; the id itself where two cases have the same."""
    words = {case.case_id: f"{way_of(case)}, {load_name(case)}" for case in cases}
    counted = Counter(words.values())
    return {case_id: case_id if counted[name] > 1 else name for case_id, name in words.items()}
