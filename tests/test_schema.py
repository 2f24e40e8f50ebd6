"""The JSON Schema says what everything in a result file means, and knows all that runs can have."""

from __future__ import annotations

import math
from typing import Any

import jsonschema
import pytest
from tests.support.command import Command
from tests.support.hdr_format import decoded

from tinygram_bench.schema import json_schema
from tinygram_bench.schema.counters import COUNTERS
from tinygram_bench.schema.figures import FIGURES, HISTOGRAMS
from tinygram_bench.schema.properties import PROPERTIES
from tinygram_bench.statistics.figures.runs import figure_names
from tinygram_bench.statistics.workloads import WORKLOADS

SCHEMA = json_schema()
RUN = SCHEMA["$defs"]["Run"]["properties"]
MEASURED = {
    "stream": (
        *("--messages", 2000, "--busy-thread"),
        *("--only", "strategy=coalesce:10us"),
    ),
    "stream paced": (
        *("--rate", 2000, "--duration", "100ms", "--producers", 2, "--probe", "10ms"),
        *("--only", "runtime=threads,strategy=nodelay"),
    ),
    "stream over a link": (
        *("--rate", 1000, "--duration", "100ms", "--link", "rtt=1ms"),
        *("--only", "runtime=loop,strategy=nodelay"),
    ),
    "rr": (
        *("--callers", "1x2", "--calls", 5, "--sends-per-request", 1, "--strategy", "nodelay"),
        *("--runtime", "native", "--runtime", "threads"),
        *("--server-runtime", "native", "--server-runtime", "asyncio"),
        *("--connections", "per-request", "--connections", "shared"),
    ),
    "echo": (
        *("--messages", 100, "--size", 100, "--only", "native/epoll", "--only", "threads/recv"),
        *("--only", "threads/tinygram/recv_into/adaptive"),
    ),
    "sizes": ("--samples", 100, "--sizes", "1,100", "--round-trips", "0,1,2"),
    "fanout": ("--subscribers", 3, "--duration", "100ms", "--runtime", "native"),
    "fanout paced": (
        *("--subscribers", 3, "--rate", 100, "--duration", "100ms"),
        *("--runtime", "native", "--runtime", "asyncio"),
    ),
}
COVERED = {
    "stream": {"queueing_ns", "hold_ns"},
    "stream paced": {"latency_ns", "pacing_error_ns", "queueing_ns"},
    "stream over a link": {"latency_ns", "link_lateness_ns"},
    "rr": {"call_ns", "connect_ns"},
    "echo": {"round_trip_ns"},
    "sizes": {"connect_ns", "total_ns", "next_trip_ns", "part_ns"},
    "fanout": {"last_ns"},
    "fanout paced": {"latency_ns", "last_ns"},
}


def undescribed(found: dict[str, Any], where: str) -> list[str]:
    """The properties without a description, in all that `found` has."""
    missing = []
    for name, each in found.get("properties", {}).items():
        if not each.get("description"):
            missing.append(f"{where}.{name}")
        missing += undescribed(each, f"{where}.{name}")
    return missing


def test_every_property_has_a_description() -> None:
    missing = [fault for name, each in SCHEMA["$defs"].items() for fault in undescribed(each, name)]
    assert missing == []


def test_nothing_is_described_that_is_not_there() -> None:
    there = {name: set(each["properties"]) for name, each in SCHEMA["$defs"].items()}
    assert {name: set(said) for name, said in PROPERTIES.items()} == there


def test_every_figure_of_a_summary_is_listed_with_its_unit() -> None:
    assert {name for workload in WORKLOADS for name in figure_names(workload)} == set(FIGURES)
    listed = SCHEMA["$defs"]["Summary"]["properties"]["figures"]["properties"]
    assert listed["latency_p50_us"]["description"] == (
        "the median of the histogram latency_ns; unit: µs"
    )
    assert listed["mb_per_s"]["description"].endswith("; unit: MB/s")


def test_the_schema_allows_no_counter_or_figure_that_it_does_not_list() -> None:
    for names, kind in (
        (RUN["counters"], COUNTERS),
        (RUN["histograms"], HISTOGRAMS),
        (SCHEMA["$defs"]["Summary"]["properties"]["figures"], FIGURES),
    ):
        assert set(names["properties"]) == set(kind)
        assert names["additionalProperties"] is False


def test_the_counters_of_runs_in_slices_say_what_slices_add() -> None:
    said = {name: each["description"] for name, each in RUN["counters"]["properties"].items()}
    assert "those that settle" in said["messages"]
    assert "of all of them together" in said["throttled_periods"]
    assert "callers" in said["resting_cpu_ns"]
    for name in ("writes", "reads", "data_segments", "segments_in", "kernel_DelayedACKs"):
        assert "settling, draining and resting with it" in said[name]
        assert "cuts batches short" in said[name]
    for name in ("segments_in", "kernel_DelayedACKs"):
        assert "acknowledgements that were delayed" in said[name]
    for name in ("voluntary_context_switches", "receiver_voluntary_context_switches"):
        assert "each rest adds some" in said[name]


@pytest.mark.parametrize(
    ("command", "what"), [(what.split()[0], what) for what in MEASURED], indirect=["command"]
)
def test_a_result_has_nothing_that_the_schema_does_not_list(command: Command, what: str) -> None:
    done = command.run(*MEASURED[what], "--rounds", 1, "--pin", "none", "--quiet")
    assert done.code == 0, done.stderr
    jsonschema.validate(done.result, SCHEMA)
    names = {name for run in done.runs for name in run["histograms"]}
    assert COVERED[what] <= names
    for run in done.runs:
        for name, text in run["histograms"].items():
            counts, digits = decoded(text)
            # The library's own, which every connection has, are small ones.
            assert digits == 3 or (name, digits) == ("hold_ns", 1)
            assert sum(counts.values()) == run["sample_counts"][name]


@pytest.mark.parametrize("command", ["stream"], indirect=True)
def test_queueing_samples_the_first_message_of_each_burst(command: Command) -> None:
    done = command.run(
        *("--only", "runtime=loop,implementation=stdlib,strategy=nodelay", "--messages", 1000),
        *("--rounds", 1, "--quiet"),
    )
    (run,) = done.runs
    assert run["counters"]["messages"] == 1000
    assert run["sample_counts"] == {"queueing_ns": math.ceil(1000 / 64)}
    assert "of 200,000 messages 3,125" in HISTOGRAMS["queueing_ns"]


@pytest.mark.parametrize("command", ["stream"], indirect=True)
def test_another_decoder_reads_the_figures_from_a_histogram(command: Command) -> None:
    """The published format, read by code that shares nothing with ours."""
    done = command.run(
        *("--only", "runtime=loop,implementation=stdlib,strategy=nodelay"),
        *("--rate", 1000, "--duration", "500ms", "--rounds", 1, "--quiet"),
    )
    counts, _ = decoded(done.runs[0]["histograms"]["latency_ns"])
    figures = done.result["summaries"][0]["figures"]
    values = sorted(value for value, count in counts.items() for _ in range(count))
    assert len(values) == done.runs[0]["counters"]["messages"]
    for figure, value in (
        ("latency_min_us", values[0]),
        ("latency_p50_us", values[math.ceil(len(values) / 2) - 1]),
        ("latency_max_us", values[-1]),
    ):
        assert figures[figure]["median"] == pytest.approx(value / 1e3, rel=2e-3)
