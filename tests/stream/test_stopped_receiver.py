"""A receiver that stands still for half a second is felt by every message that was due meanwhile.

A tool that only times the messages it managed to send in time (coordinated omission) shows nothing
of it: of 5,000 messages in 5 s, the 500 that were due during the stop waited up to 500 ms, so that
the slowest hundredth begins at 450 ms.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from tests.stream.command import Command, Done

from tinygram._native import Histogram
from tinygram.bench import runtimes

AFTER_S = 2.0
STOP_S = 0.5
DEFAULT_WAYS = [
    f"{runtime.name}/{runtime.implementation}/{strategy.text}"
    for runtime, strategy in runtimes.all_ways()
    if runtime.is_default and strategy.text in runtimes.DEFAULT_STRATEGIES
]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    command = Command(tmp_path_factory.mktemp("stopped"))
    process = command.start("--rate", 1_000, "--duration", "5s", "--rounds", 1)
    stops = stop_every_receiver(command, process)
    done = command.finish(process, longest_s=10.0)
    assert stops == len(done.runs)
    yield done
    command.end()


def stop_every_receiver(command: Command, process: subprocess.Popen[str]) -> int:
    """Stop each receiver once, two seconds after its sender appeared; how many were stopped."""
    known: set[int] = set()
    stops = 0
    while process.poll() is None:
        found = {pid: name for pid, name in command.processes().items() if pid not in known}
        if "tg-sender" in found.values():
            appeared_s = time.monotonic()
            [receiver] = [pid for pid, name in found.items() if name == "tg-receiver"]
            sleep_until(appeared_s + AFTER_S)
            os.kill(receiver, signal.SIGSTOP)
            sleep_until(time.monotonic() + STOP_S)
            os.kill(receiver, signal.SIGCONT)
            stops += 1
            known |= set(command.processes())
        time.sleep(0.1)
    return stops


def sleep_until(at_s: float) -> None:
    time.sleep(max(0.0, at_s - time.monotonic()))


def test_every_default_way_was_measured(stopped: Done) -> None:
    assert stopped.code == 0
    assert len(stopped.runs) == len(DEFAULT_WAYS) == 11


@pytest.mark.parametrize("way", DEFAULT_WAYS)
def test_the_slowest_hundredth_waited_450_ms(stopped: Done, way: str) -> None:
    [run] = [run for run in stopped.runs if run["case_id"].startswith(f"stream/{way}/")]
    assert run["failure"] is None
    latency = Histogram.from_base64(run["histograms"]["latency_ns"])
    assert latency.count == 5_000
    assert 440e6 <= latency.percentile_ns(99) <= 460e6
    assert 495e6 <= latency.max_ns <= 520e6
    # Before and after the stop nothing waited so.
    assert latency.percentile_ns(50) < 50e6
