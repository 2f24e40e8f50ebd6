"""What `tinygram sizes` leaves: all samples counted, their time in parts, the model, the words."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jsonschema
import pytest
from tests.support.command import Command, Done, run_once

from tinygram_bench._native import Histogram
from tinygram_bench.schema import json_schema
from tinygram_bench.workloads.warnings import strangers_told

SAMPLES = 100
CELLS = [(size, trips) for size in (1, 10_000, 300_000) for trips in (0, 1, 2)]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return run_once(
        *(tmp_path_factory.mktemp("sizes"), "sizes"),
        *("--sizes", "1,10kB,300kB", "--samples", SAMPLES, "--first", 7, "--rounds", 2),
        *("--predict", "64KiB", "--published"),
    )


def runs_of(done: Done, name: str) -> list[Any]:
    found = [run for run in done.result["runs"] if run["case_id"].endswith(name)]
    assert len(found) == 2
    return found


def histogram(run: Any, name: str) -> Histogram:
    return Histogram.from_base64(run["histograms"][name])


def test_every_run_succeeds_and_the_result_is_of_the_schema(done: Done) -> None:
    assert done.code == 0, done.stderr
    assert [run["failure"] for run in done.result["runs"]] == [None] * len(done.result["runs"])
    jsonschema.validate(done.result, json_schema())


@pytest.mark.parametrize(("size", "trips"), CELLS)
def test_every_byte_of_every_sample_was_compared(done: Done, size: int, trips: int) -> None:
    for run in runs_of(done, f"/{size}B/{_trips(trips)}/2-setup-writes"):
        counters = run["counters"]
        # With the first ones and, of messages, one whose last byte is withheld.
        connections = SAMPLES + 7 + (1 if trips else 0)
        assert counters["samples"] == SAMPLES
        assert counters["server_samples"] == connections
        assert counters["server_compared_samples"] == (connections if trips else 0)
        assert counters["server_bytes"] == connections * size * trips
        assert counters["server_refused_connections"] == 0


@pytest.mark.parametrize(("size", "trips"), CELLS)
def test_connect_setup_and_transfer_are_the_whole(done: Done, size: int, trips: int) -> None:
    for run in runs_of(done, f"/{size}B/{_trips(trips)}/2-setup-writes"):
        parts = [histogram(run, name) for name in ("connect_ns", "setup_ns", "total_ns")]
        assert [part.count for part in parts] == [SAMPLES] * 3
        connect, setup, total = (part.mean_ns for part in parts)
        transfer = histogram(run, "transfer_ns").mean_ns if trips else 0
        # A histogram has three digits.
        assert connect + setup + transfer == pytest.approx(total, rel=0.01)
        if trips:
            trip_times = histogram(run, "first_trip_ns").mean_ns
            if trips == 2:
                trip_times += histogram(run, "next_trip_ns").mean_ns
            assert trip_times == pytest.approx(transfer, rel=0.01)


def test_the_first_samples_are_apart(done: Done) -> None:
    for run in runs_of(done, "/1B/1-round-trip/2-setup-writes"):
        assert histogram(run, "first_total_ns").count == 7
        assert run["counters"]["first_sample_ns"] > 0


def test_the_summaries_have_the_model_and_the_rates(done: Done) -> None:
    for summary in done.result["summaries"]:
        figures = summary["figures"]
        if summary["case"]["parameters"]["part"] is not None:
            assert figures["part_p50_us"]["median"] > 0
            continue
        assert figures["model_setup_us"] is not None
        assert figures["model_latency_us"] is not None
        # Whether larger ones took longer in every round is the host's: without it, no bandwidth.
        rate, half = figures["model_mb_per_s"], figures["model_n_half_bytes"]
        assert rate is None or rate["median"] > 0
        assert half is None or rate is not None
        assert (figures["model_n90_bytes"] is None) == (half is None)
        if half is not None:
            nine_tenths = figures["model_n90_bytes"]["median"]
            assert nine_tenths == pytest.approx(9 * half["median"], rel=0.01)
        assert figures["model_residual_percent"] is not None
        has_trips = summary["case"]["parameters"]["round_trips"] > 0
        assert (figures["mb_per_s"] is not None) == has_trips
        if has_trips:
            assert figures["mb_per_s"]["median"] >= figures["total_mb_per_s"]["median"]


def test_the_report_says_the_model_what_it_predicts_and_the_local_parts(done: Done) -> None:
    for said in (
        "Time of a sample (us): nodelay, setup and first data in 2 writes",
        "The model: time = setup + trips x (latency + bytes / bandwidth)",
        "What the model predicts",
        "65.5 kB x 1",
        "A round trip of 1 B on this host, part by part",
        "The published measurements, by the same model",
        "gigabit-ethernet",
        "only shapes and ratios can be set beside ours",
        "- nodelay, setup and first data in 2 writes, over loopback: time = ",
        "- A round trip of 1 B on this host: four system calls ",
    ):
        assert said in done.stdout, done.stdout


def test_a_round_trip_takes_far_longer_than_a_system_call(done: Done) -> None:
    medians = {
        part: min(
            histogram(run, "part_ns").percentile_ns(50) for run in runs_of(done, f"/local/{part}")
        )
        for part in ("system-call", "one-thread", "same-core")
    }
    # How the two differ is the host's: on a busy one not by more than noise.
    assert 4 * medians["system-call"] < min(medians["one-thread"], medians["same-core"])


def test_ways_are_compared_cell_by_cell(command: Command) -> None:
    done = command.run(
        *("--sizes", "10", "--round-trips", "1", "--samples", SAMPLES, "--rounds", 6),
        *("--setup-writes", 2, "--setup-writes", 1, "--strategy", "nagle", "--no-local"),
    )
    assert done.code == 0, done.stderr
    # Noise may make a doubt of them: what they say is a test of the report.
    (verdict,) = done.result["verdicts"]
    assert verdict["figure"] == "total_p50_us"
    assert verdict["baseline_case_id"].endswith("/2-setup-writes")
    assert "setup and first data in one write, over loopback, against" in done.stdout
    joined = [run for run in done.result["runs"] if run["case_id"].endswith("/1-setup-write")]
    assert all("setup_ns" not in run["histograms"] for run in joined)


def test_a_probe_leaves_samples_of_the_exchanges_and_says_what_it_took(command: Command) -> None:
    done = command.run(
        *("--sizes", "300kB", "--round-trips", "2", "--samples", SAMPLES, "--rounds", 1),
        *("--probe", "1ms"),
    )
    assert done.code == 0, done.stderr
    for run in done.result["runs"]:
        if "/local/" in run["case_id"]:
            assert run["samples"] is None
            continue
        columns = run["samples"]["columns"]
        assert columns["at_ns"] == sorted(columns["at_ns"])
        # The connections come and go: a sample may meet none.
        assert all(0 <= at_ns <= run["counters"]["run_time_ns"] for at_ns in columns["at_ns"])
        assert len(columns["client_connections"]) == len(columns["at_ns"])
        assert run["counters"]["probe_cpu_ns"] > 0
    assert "the kernel was asked every 1ms beside the run" in done.stdout


def test_quiet_prints_nothing(command: Command) -> None:
    done = command.run(
        *("--sizes", "1", "--round-trips", "0", "--samples", SAMPLES, "--rounds", 1),
        *("--no-local", "--quiet"),
    )
    assert (done.code, done.stdout, done.stderr) == (0, "", "")


def test_the_help_of_both_commands() -> None:
    for words in (["sizes", "--help"], ["serve", "sizes", "--help"]):
        program = [sys.executable, "-m", "tinygram_bench", *words]
        shown = subprocess.run(program, capture_output=True, text=True, check=True)
        assert "Usage: tinygram" in shown.stdout


def test_one_warning_counts_all_connections_of_strangers() -> None:
    more = ("server_refused_connections", "server_idle_connections")
    counters = {"strangers": 2, more[0]: 1, more[1]: None}
    (warning,) = strangers_told(counters, *more)
    assert "turned away: 3;" in warning.message
    assert not list(strangers_told({"strangers": 0, more[0]: 0}, *more))


def _trips(count: int) -> str:
    return "1-round-trip" if count == 1 else f"{count}-round-trips"
