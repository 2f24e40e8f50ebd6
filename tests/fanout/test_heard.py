"""What subscribers leave, maybe on another host, is taken only if the run's slices make it."""

from __future__ import annotations

import msgspec
import pytest

from tinygram_bench._native import Histogram
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.slices import Slices
from tinygram_bench.workloads.fanout.order import Begin, Heard
from tinygram_bench.workloads.fanout.slices import read_heard

TWO_SLICES = Begin(0, Slices((0, 10), 5, 1), 1)
ALONE = Begin(0, Slices((0,), 5, 1), 1, is_alone=True)
COUNTERS = dict.fromkeys(
    [
        *("reads", "bytes", "publications", "strangers", "early_ns", "receiver_cpu_ns"),
        *("receiver_voluntary_context_switches", "receiver_involuntary_context_switches"),
    ],
    1,
)
FIGURES: dict[str, tuple[float | None, ...]] = {
    f"{name}_{percentile}_us": (1.0, 2.0)
    for name in ("latency", "last")
    for percentile in ("p50", "p99", "p99_9", "max")
}
EMPTY = Histogram().to_base64()
WHOLE = Heard(COUNTERS, {"latency_ns": EMPTY, "last_ns": EMPTY}, (1, 1), (1, 1), (1, 1), FIGURES)
OF_ONE = msgspec.structs.replace(WHOLE, messages=(1,), all_messages=(1,), last_ns=(1,), figures={})
WRONG: dict[str, dict[str, object]] = {
    "a slice too few": {"messages": (1,)},
    "a counter too many": {"counters": COUNTERS | {"kernel_RetransSegs": 1}},
    "a counter too few": {"counters": {"reads": 1}},
    "no figures": {"figures": {}},
    "a figure of nobody's": {"figures": FIGURES | {"late_us": (1.0, 1.0)}},
    "a median too few": {"figures": FIGURES | {"last_p50_us": (1.0,)}},
    "more blocks than slices": {"figures": FIGURES | {"last_p99_us": (1.0, 1.0, 1.0)}},
    "another histogram": {"histograms": {"latency_ns": EMPTY, "call_ns": EMPTY}},
    "a histogram that is none": {"histograms": {"latency_ns": "?", "last_ns": EMPTY}},
    "a time before all clocks": {"last_ns": (1, -1)},
}


@pytest.mark.parametrize(("begin", "left"), [(TWO_SLICES, WHOLE), (ALONE, OF_ONE)])
def test_what_the_slices_make_is_taken(begin: Begin, left: Heard) -> None:
    assert read_heard(msgspec.json.encode(left), begin) == left


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
def test_anything_else_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(RunError, match="what the subscribers heard"):
        read_heard(msgspec.json.encode(msgspec.structs.replace(WHOLE, **changes)), TWO_SLICES)


def test_figures_of_slices_are_none_of_a_run_alone() -> None:
    left = msgspec.structs.replace(OF_ONE, figures=dict.fromkeys(FIGURES, (1.0,)))
    with pytest.raises(RunError, match="has other figures"):
        read_heard(msgspec.json.encode(left), ALONE)
