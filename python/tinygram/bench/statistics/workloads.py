"""What the workloads differ in: what is said of a run, and which cases are compared, on what.

To add one: an entry in WORKLOADS, and where its pairs are others than those by contests, or figures
come from more than counters and histograms, a module beside this one that finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tinygram.bench.result import Case, Run
from tinygram.bench.statistics import rr, sizes
from tinygram.bench.statistics.counters import FORMULAS, Number

Pairs = Callable[[Sequence[Case]], Iterable[tuple[str, str]]]
Figures = Callable[[Case, Run, Mapping[str, Number]], Mapping[str, Number]]
Histograms = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Workload:
    """All that is said of one.

    Figures: `counted`, of counters, among them those that `computed` makes of a run and its other
    figures; of `histograms`, name → statistics; and `modelled`, which fits.py adds.
    Verdicts: on `compared`, or on `compared_paced` where messages are due at a time; the first wins
    contests. They are given on `pairs` of (baseline, case); where that is None, on those of
    verdicts.py, with `base`, the runtime, implementation, strategy and server of the case that all
    others are measured against.
    Loads: `load_parameters` belong to it, too; in a closed loop the replies say when the next
    message is sent. `unit`: the counter of what was exchanged.
    """

    histograms: Histograms
    compared: tuple[str, ...]
    compared_paced: tuple[str, ...] = ()
    pairs: Pairs | None = None
    base: tuple[str, str, str, str | None] | None = None
    counted: tuple[str, ...] = tuple(FORMULAS)
    computed: Figures = lambda _case, _run, _figures: {}
    modelled: tuple[str, ...] = ()
    load_parameters: tuple[str, ...] = ()
    is_closed_loop: bool = False
    unit: str = "messages"


_SPREAD = ("min", "mean", "p50", "p99", "p99_9", "max")
_TAIL_TOO = (*_SPREAD[:-1], "p99_99", "max")
_OF_MESSAGES: Histograms = {
    "latency": _TAIL_TOO,
    "queueing": _TAIL_TOO,
    "round_trip": _TAIL_TOO,
    "pacing_error": ("p50", "p99"),
    "hold": ("p50", "p99"),
}

WORKLOADS: Mapping[str, Workload] = {
    "stream": Workload(
        _OF_MESSAGES,
        (
            "throughput_per_s",
            "run_time_s",
            "queueing_mean_us",
            "queueing_p99_us",
            "queueing_p99_99_us",
        ),
        ("latency_p50_us", "latency_p99_us", "cpu_s_per_million"),
        base=("loop", "stdlib", "nodelay", None),
    ),
    "rr": Workload(
        {"call": _TAIL_TOO, "connect": ("mean", "p50", "p99", "max")},
        ("calls_per_s", "call_p50_us", "call_p99_us"),
        pairs=rr.compared_pairs,
        unit="calls",
    ),
    "echo": Workload(
        _OF_MESSAGES,
        ("throughput_per_s", "round_trip_p50_us", "round_trip_p99_us", "cpu_s_per_million"),
        base=("asyncio", "stdlib", "nodelay", "protocol"),
        load_parameters=("depth", "reply"),
        is_closed_loop=True,
    ),
    "sizes": Workload(
        {
            **dict.fromkeys(("connect", "setup", "transfer", "total"), _SPREAD),
            **dict.fromkeys(("first_trip", "next_trip"), ("p50", "p99")),
            "part": ("min", "mean", "p50", "p99"),
        },
        ("total_p50_us",),
        pairs=sizes.compared_pairs,
        counted=("first_sample_us", "mb_per_s", "total_mb_per_s", "delayed_acks"),
        computed=sizes.computed_figures,
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
