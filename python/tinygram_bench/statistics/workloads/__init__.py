"""What differs between workloads: figures of a run, what is compared, and what times are made of.

To add a workload, add an entry to WORKLOADS, and, where its pairs are not those of contests, where
figures come from more than counters and histograms, or where its times have parts of their own, a
module beside this one that finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from msgspec import Struct

from tinygram_bench.model.result import Case, Run
from tinygram_bench.statistics.figures.spent import Spent, cpu_of_a_message, mean_time
from tinygram_bench.statistics.one_way import BOUND, OF_TWO_CLOCKS
from tinygram_bench.statistics.workloads import fanout, rr, sizes, stream

Pairs = Callable[[Sequence[Case]], Iterable[tuple[str, str]]]
Figures = Callable[[Case, Run, Mapping[str, float | None]], Mapping[str, float | None]]
Histograms = Mapping[str, tuple[str, ...]]
Spending = Callable[[Case, Run], Spent | None]
Name = Callable[[Case, Case], str | None]


class Workload(Struct, frozen=True):
    """The figures and comparisons of a workload.

    Figures that its runs can have: `counted`, from counters, among them those that `computed` makes
    of a run and its other figures; from `histograms`, name → statistics; and `modelled`, which
    sizes_fits.py adds.
    Verdicts: on `compared`, or on `compared_paced` where messages are due at a time; the first
    figure decides contests, and p99.9 is compared only in slices. Verdicts are given on `pairs` of
    (baseline, case); where that is None, on those of verdicts/comparison.py, with `base`, the
    runtime, implementation, strategy and server of the case that all others are measured against.
    `side_by_side`: the key of the cases that take turns; None: those of a load do.
    Loads: `load_parameters` belong to a load, too; in a closed loop, which a load with a rate is
    not, the replies say when the next message is sent. `unit`: the counter of what was exchanged,
    and `unit_of_the_kernel` that of what the kernel counted, where that is more. `time`: the
    histogram of what one unit takes; a flat-out stream has no such time, and the histogram is
    empty.
    Accounts: `arrival_spent` takes `arrival` apart, which is a figure, or named like one, and
    `cpu_spent` the CPU time of one unit, where that is no part of `arrival`.
    `name_beside`: what a case is called beside another one, where that is not its way.
    """

    histograms: Histograms
    time: str
    arrival: str
    arrival_spent: Spending
    counted: tuple[str, ...]
    compared: tuple[str, ...]
    compared_paced: tuple[str, ...] = ()
    pairs: Pairs | None = None
    side_by_side: Callable[[Case], Hashable] | None = None
    base: tuple[str, str, str, str | None] | None = None
    computed: Figures = lambda _case, _run, _figures: {}
    modelled: tuple[str, ...] = ()
    load_parameters: tuple[str, ...] = ()
    is_closed_loop: bool = False
    unit: str = "messages"
    unit_of_the_kernel: str | None = None
    cpu_spent: Spending | None = cpu_of_a_message
    name_beside: Name = lambda _case, _other: None

    @property
    def one(self) -> str:
        """One of what was exchanged, in words."""
        return self.unit.removesuffix("s")


_SPREAD = ("min", "mean", "p50", "p99", "p99_9", "max")
_TAIL_TOO = (*_SPREAD[:-1], "p99_99", "max")
_OF_MESSAGES = (
    "throughput_per_s",
    "run_time_s",
    "messages_per_write",
    "writes",
    "cpu_s_per_million",
    "context_switches_per_million",
    "connect_us",
)
_OF_RECORDS = ("records_per_message", "wire_bytes_per_message")
_OF_RECORDS_OF_CALLS = ("records_per_call", "wire_bytes_per_call")
OF_TLS = (*_OF_RECORDS, *_OF_RECORDS_OF_CALLS, "receiver_cpu_share")
"""Figures that only cases over TLS have."""
OF_A_RATE = ("start_delay_p50_us", "start_delay_p99_us")
"""Figures that only cases at a rate have."""
_OF_SLICES = ("stalled_slices_share",)
_OF_THE_KERNEL = ("delayed_acks", "listen_overflows", "syn_retransmits", "resets")

WORKLOADS: Mapping[str, Workload] = {
    "stream": Workload(
        histograms={
            **dict.fromkeys(("latency", "queueing"), _TAIL_TOO),
            **dict.fromkeys(("pacing_error", "hold"), ("p50", "p99")),
        },
        time="latency",
        arrival="latency_mean_us",
        arrival_spent=stream.arrival_spent,
        counted=(
            *_OF_MESSAGES,
            "bytes_per_read",
            "receiver_cpu_s_per_million",
            *OF_TLS,
            "messages_per_segment",
            "messages_per_release",
            "startup_ms",
            *OF_TWO_CLOCKS,
            *_OF_THE_KERNEL,
            *_OF_SLICES,
        ),
        compared=(
            "throughput_per_s",
            "run_time_s",
            "queueing_mean_us",
            "queueing_p99_us",
            "queueing_p99_99_us",
        ),
        compared_paced=(
            "latency_p50_us",
            "latency_p99_us",
            "latency_p99_9_us",
            "cpu_s_per_million",
        ),
        base=("loop", "stdlib", "nodelay", None),
    ),
    "rr": Workload(
        histograms={
            "call": _TAIL_TOO,
            "connect": ("mean", "p50", "p99", "max"),
            "start_delay": ("p50", "p99"),
        },
        time="call",
        arrival="time_per_call",
        arrival_spent=rr.arrival_spent,
        cpu_spent=None,
        is_closed_loop=True,
        counted=(
            "run_time_s",
            "calls_per_s",
            "calls_in_flight",
            "cpu_us_per_call",
            "server_cpu_us_per_call",
            *_OF_RECORDS_OF_CALLS,
            *_OF_THE_KERNEL,
            *_OF_SLICES,
        ),
        compared=(
            "calls_per_s",
            "call_p50_us",
            "call_p99_us",
            "call_p99_9_us",
            "cpu_us_per_call",
        ),
        compared_paced=("call_p50_us", "call_p99_us", "call_p99_9_us", "cpu_us_per_call"),
        pairs=rr.compared_pairs,
        side_by_side=rr.side_by_side,
        name_beside=rr.name_beside,
        unit="calls",
    ),
    "echo": Workload(
        histograms={"round_trip": _TAIL_TOO, "start_delay": ("p50", "p99")},
        time="round_trip",
        arrival="round_trip_mean_us",
        arrival_spent=lambda _case, run: mean_time(run, "round_trip", {}),
        counted=(
            *_OF_MESSAGES,
            "both_ways_mb_per_s",
            "in_flight",
            "client_cpu_share",
            *_OF_RECORDS,
            *_OF_THE_KERNEL,
            *_OF_SLICES,
        ),
        compared=(
            "throughput_per_s",
            "round_trip_p50_us",
            "round_trip_p99_us",
            "round_trip_p99_9_us",
            "cpu_s_per_million",
        ),
        compared_paced=(
            "round_trip_p50_us",
            "round_trip_p99_us",
            "round_trip_p99_9_us",
            "cpu_s_per_million",
        ),
        base=("asyncio", "stdlib", "nodelay", "protocol"),
        load_parameters=("depth", "reply"),
        is_closed_loop=True,
    ),
    "fanout": Workload(
        histograms={"latency": _TAIL_TOO, "last": _TAIL_TOO},
        time="latency",
        arrival="last_mean_us",
        arrival_spent=fanout.arrival_spent,
        counted=(
            *_OF_MESSAGES,
            "writes_per_message",
            "receiver_cpu_s_per_million",
            "startup_ms",
            BOUND,
            *_OF_THE_KERNEL,
            *_OF_SLICES,
        ),
        compared=("throughput_per_s", "last_p50_us", "cpu_s_per_million"),
        compared_paced=("latency_p50_us", "latency_p99_us", "last_p50_us", "cpu_s_per_million"),
        base=("asyncio", "stdlib", "nodelay", "protocol"),
    ),
    "sizes": Workload(
        histograms={
            **dict.fromkeys(("connect", "setup", "transfer", "total"), _SPREAD),
            **dict.fromkeys(("first_trip", "next_trip"), ("p50", "p99")),
            "part": ("min", "mean", "p50", "p99"),
        },
        time="total",
        arrival=sizes.TIME,
        arrival_spent=sizes.arrival_spent,
        cpu_spent=sizes.cpu_spent,
        counted=("first_sample_us", "mb_per_s", "total_mb_per_s", "delayed_acks"),
        compared=(sizes.TIME,),
        pairs=sizes.compared_pairs,
        side_by_side=sizes.side_by_side,
        computed=sizes.computed_figures,
        name_beside=sizes.name_beside,
        unit="samples",
        # Some of the connections that were made are in no figure.
        unit_of_the_kernel="server_connections",
        modelled=(
            "model_setup_us",
            "model_latency_us",
            "model_mb_per_s",
            "model_n_half_bytes",
            "model_n90_bytes",
            "model_residual_percent",
        ),
    ),
}
