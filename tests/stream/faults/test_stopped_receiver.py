"""A peer that takes nothing for a while is felt by every message that was due meanwhile.

A tool that only times the messages it managed to send in time (coordinated omission) shows nothing
of it. Here the bytes of the stream's middle are taken when they have come, which is not before they
were due, and `STOP_S` later they and all that follow are passed on: each of the 400 messages that
were due meanwhile waited for the rest of it, however late a busy machine was with
the others. How exactly a latency is told is a test of crates/load (matching.rs).
"""

from __future__ import annotations

import pytest
from tests.stream.faults.receivers import program
from tests.support.command import Done, run_once

from tinygram_bench._native import Histogram
from tinygram_bench.ways import runtimes

DURATION_S = 1
STOP_S = 0.4
RATE_PER_S = 1_000
MESSAGES = DURATION_S * RATE_PER_S
STRATEGIES = ("nodelay", "adaptive", "tick")
WAYS = [
    f"{known.name}/{known.implementation}/{strategy}"
    for known in runtimes.RUNTIMES
    if known.runs_when == "always"
    for strategy in STRATEGIES
    if strategy in known.strategies
]
"""Each runtime in each implementation that runs by default: who waits is the runtime."""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return run_once(
        *(tmp_path_factory.mktemp("stopped"), "stream"),
        *("--rate", RATE_PER_S, "--duration", f"{DURATION_S}s", "--rounds", 1, "--lone"),
        *("--receiver-command", program("standing_relay", STOP_S)),
        *(word for strategy in STRATEGIES for word in ("--strategy", strategy)),
    )


def test_every_runtime_was_measured(stopped: Done) -> None:
    assert stopped.code == 0, stopped.stderr
    assert len(stopped.runs) == len(WAYS) == 14


@pytest.mark.parametrize("way", WAYS)
def test_every_message_that_was_due_meanwhile_waited_for_the_rest_of_it(
    stopped: Done, way: str
) -> None:
    [run] = [run for run in stopped.runs if run["case_id"].startswith(f"stream/{way}/")]
    assert run["failure"] is None
    latency = Histogram.from_base64(run["histograms"]["latency_ns"])
    assert latency.count == MESSAGES
    # The stream's first messages had come before the stop, which is nothing to them.
    assert latency.percentile_ns(1) / 1e9 < 0.2 * STOP_S
    # The least slow one of the slowest `count` messages; a histogram has three digits.
    for count in (1, 20, 100, 300):
        waited_s = latency.percentile_ns(100 * (1 - (count - 0.5) / MESSAGES)) / 1e9
        assert waited_s >= 0.999 * (STOP_S - count / RATE_PER_S), count
