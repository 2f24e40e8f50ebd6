"""Every way of sending, from the command line to the result file, flat out and paced."""

from __future__ import annotations

from math import ceil
from typing import Any

import jsonschema
import pytest
from tests.support.command import Done, run_once

from tinygram_bench._native import Histogram
from tinygram_bench.schema import json_schema
from tinygram_bench.ways import runtimes

MESSAGES = 3_000
SCHEDULED_MESSAGES = 600
WAYS = [
    f"{runtime.name}/{runtime.implementation}/{strategy}"
    for runtime, strategy in runtimes.all_ways()
]
# What Nagle's algorithm does to a paced stream is the kernel's: it is written as by `nodelay`.
PACED_WAYS = [way for way in WAYS if not way.endswith("/nagle")]
EACH = {"flat_out": WAYS, "paced": PACED_WAYS}
FLAT_OUT = ("--messages", MESSAGES)
PACED_STRATEGIES = dict.fromkeys(way.split("/")[2] for way in PACED_WAYS)
PACED = (
    *("--rate", 2_000, "--duration", "300ms", "--lone"),
    *(word for name in PACED_STRATEGIES for word in ("--strategy", name)),
)
GATHERING = ("combine", "coalesce", "competitive", "timer", "tick", "adaptive")


@pytest.fixture(scope="module")
def flat_out(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return measured(tmp_path_factory, *FLAT_OUT)


@pytest.fixture(scope="module")
def paced(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return measured(tmp_path_factory, *PACED)


def measured(tmp_path_factory: pytest.TempPathFactory, *load: object) -> Done:
    folder = tmp_path_factory.mktemp("every-way")
    return run_once(folder, "stream", "--all", "--rounds", 1, *load)


def run_of(done: Done, way: str) -> Any:
    return done.run_of(f"stream/{way}/")


def decoded(run: Any) -> dict[str, Histogram]:
    return {name: Histogram.from_base64(text) for name, text in run["histograms"].items()}


def figures_of(done: Done, run: Any) -> dict[str, Any]:
    for summary in done.result["summaries"]:
        if summary["case"]["case_id"] == run["case_id"]:
            return dict(summary["figures"])
    raise AssertionError(f"no summary of {run['case_id']}")


def check_counters(run: Any, way: str, messages: int) -> None:
    counters = run["counters"]
    assert run["failure"] is None
    assert counters["messages"] == messages
    assert counters["written_bytes"] == counters["bytes"] > messages
    assert counters["run_time_ns"] > 0
    assert counters["reads"] > 0
    assert counters["receive_buffer_bytes"] > 0
    strategy = way.split("/")[2].split(":")[0]
    if strategy in GATHERING:
        assert 0 < counters["writes"] <= messages
    elif counters["would_block"] == 0:
        assert counters["writes"] == messages
    else:
        # An event loop gathers what did not fit into the send buffer.
        assert way.startswith(("asyncio/", "uvloop/"))


@pytest.mark.parametrize("load", EACH)
def test_the_command_succeeds_and_says_nothing_of_faults(
    load: str, request: pytest.FixtureRequest
) -> None:
    done: Done = request.getfixturevalue(load)
    assert done.code == 0
    assert len(done.runs) == len(EACH[load]) == len(done.result["summaries"])
    assert "failed" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("load", EACH)
def test_the_result_is_what_the_schema_says(load: str, request: pytest.FixtureRequest) -> None:
    done: Done = request.getfixturevalue(load)
    validator = jsonschema.Draft202012Validator(json_schema())
    assert [error.message for error in validator.iter_errors(done.result)] == []


@pytest.mark.parametrize("way", WAYS)
def test_flat_out_every_message_is_written_received_and_counted(flat_out: Done, way: str) -> None:
    run = run_of(flat_out, way)
    check_counters(run, way, MESSAGES)
    histograms = decoded(run)
    assert histograms["queueing_ns"].count == ceil(MESSAGES / 64)
    assert histograms["queueing_ns"].max_ns <= run["counters"]["run_time_ns"] * 1.001


@pytest.mark.parametrize("way", PACED_WAYS)
def test_paced_every_message_has_a_latency_from_its_intended_time(paced: Done, way: str) -> None:
    run = run_of(paced, way)
    check_counters(run, way, SCHEDULED_MESSAGES)
    histograms = decoded(run)
    assert histograms["latency_ns"].count == SCHEDULED_MESSAGES
    assert histograms["pacing_error_ns"].count == SCHEDULED_MESSAGES
    # No message can arrive before it was released. Beside a long stop of the host the digits of a
    # histogram do not tell by how much later it did.
    assert histograms["latency_ns"].mean_ns >= histograms["pacing_error_ns"].mean_ns > 0
    assert 0 < run["counters"]["releases"] <= SCHEDULED_MESSAGES
    # The last message is due one gap before the end.
    assert run["counters"]["run_time_ns"] >= 299_500_000


@pytest.mark.parametrize("way", PACED_WAYS)
def test_latency_is_never_said_flat_out_nor_queueing_paced(
    flat_out: Done, paced: Done, way: str
) -> None:
    of_saturation, of_latency = run_of(flat_out, way), run_of(paced, way)
    assert "latency_ns" not in of_saturation["histograms"]
    assert "queueing_ns" not in of_latency["histograms"]
    flat_out_figures = figures_of(flat_out, of_saturation)
    paced_figures = figures_of(paced, of_latency)
    for name, figure in flat_out_figures.items():
        if name.startswith("latency_"):
            assert figure is None, name
    for name, figure in paced_figures.items():
        if name.startswith("queueing_") or name in ("throughput_per_s", "run_time_s"):
            assert figure is None, name
    assert flat_out_figures["queueing_p50_us"]["median"] > 0
    assert flat_out_figures["throughput_per_s"]["median"] > 0
    assert paced_figures["latency_p50_us"]["median"] > 0


@pytest.mark.parametrize("way", [way for way in WAYS if ":" in way])
def test_every_held_batch_is_accounted_for(flat_out: Done, paced: Done, way: str) -> None:
    for done in (flat_out, paced):
        run = run_of(done, way)
        assert decoded(run)["hold_ns"].count >= run["counters"]["writes"] > 0
