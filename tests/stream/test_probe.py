"""`--probe`: what the kernel held of a run's connection is in its result."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.command import Command, Refused

RUN = ("--only", "runtime=native,strategy=nodelay", "--rate", 1_000, "--duration", "1s")
WARM_UP_BYTES = 1_024 * 100
LONGEST_SEGMENT_BYTES = 65_536


def test_samples_are_of_the_runs_time_and_connection(command: Command) -> None:
    done = command.run(*RUN, "--rounds", 2, "--probe", "5ms", "--size", 100)
    assert done.code == 0, done.stderr
    for index, run in enumerate(done.runs):
        counters = done.counters_of(index)
        columns = run["samples"]["columns"]
        times = columns["at_ns"]
        # How even they are is a test of crates/load (diag/probe.rs).
        assert 1 < len(times) <= counters["run_time_ns"] // 5_000_000 + 2
        assert times == sorted(times)
        assert times[0] >= 0
        assert times[-1] <= counters["run_time_ns"]
        # The last one may be asked for before the end, and answered after it.
        assert set(columns["client_connections"][:-1]) == {1}
        assert set(columns["server_connections"][:-1]) == {1}
        sent_bytes = columns["client_sent_bytes"][:-1]
        assert sent_bytes == sorted(sent_bytes)
        # What is sent again is in it: acknowledgements of a core that stood still come late.
        again_bytes = max(columns["client_retransmits"]) * LONGEST_SEGMENT_BYTES
        assert 0 < sent_bytes[-1] <= counters["bytes"] + WARM_UP_BYTES + again_bytes
        assert counters["probe_cpu_ns"] > 0
        assert "probed" in [warning["code"] for warning in run["warnings"]]
    assert done.result["plan"]["cases"][0]["parameters"]["probe_ns"] == 5_000_000
    assert "the kernel was asked every 5ms beside the run" in done.stdout


def test_without_it_there_are_none(command: Command) -> None:
    done = command.run(*RUN, "--rounds", 1)
    assert done.code == 0
    assert done.runs[0]["samples"] is None
    assert "probe_ns" not in done.result["plan"]["cases"][0]["parameters"]


@pytest.mark.parametrize(
    ("interval", "fault"),
    [("10", "has no unit"), ("1us", "--probe 1us is outside 1ms … 60s"), ("2h", "outside")],
)
def test_an_interval_that_cannot_be_is_refused(
    tmp_path: Path, refused: Refused, interval: str, fault: str
) -> None:
    path = tmp_path / "result.json"
    refused(("stream", *map(str, RUN), "--probe", interval, "--json", str(path)), (fault,))
    assert not path.exists()
