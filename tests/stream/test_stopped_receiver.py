"""A receiver that stands still for half a second is felt by every message that was due meanwhile.

A tool that only times the messages it managed to send in time (coordinated omission) shows nothing
of it: of 3,000 messages in 3 s, the 500 that were due during the stop waited up to 500 ms, so that
the slowest hundredth begins at 470 ms. A busy machine ends a stop late; what counts is for how long
the receiver took nothing, which the first message of the stop shows.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.stream.command import Command, Done

from tinygram._native import Histogram
from tinygram.bench import runtimes

AFTER_S = 1.5
DURATION_S = 3.0
STOP_S = 0.5
RATE_PER_S = 1_000
SLOWEST_MS = DURATION_S * 1e3 / 100
"""In which a hundredth of the messages is due."""
DEFAULT_WAYS = [
    f"{runtime.name}/{runtime.implementation}/{strategy.text}"
    for runtime, strategy in runtimes.default_ways()
]


@dataclass(frozen=True)
class Stopped:
    """What the command left, and how long the receiver of each of its runs was stopped."""

    done: Done
    stops_ns: list[int]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stopped]:
    command = Command(tmp_path_factory.mktemp("stopped"))
    process = command.start("--rate", RATE_PER_S, "--duration", f"{DURATION_S:g}s", "--rounds", 1)
    stops_ns = stop_every_receiver(command, process)
    done = command.finish(process, longest_s=10.0)
    assert len(stops_ns) == len(done.runs)
    yield Stopped(done, stops_ns)
    command.end()


def stop_every_receiver(command: Command, process: subprocess.Popen[str]) -> list[int]:
    """Stop each receiver once, so long after its sender appeared; how long each stop was."""
    known: set[int] = set()
    stops_ns: list[int] = []
    while process.poll() is None:
        found = {pid: name for pid, name in command.processes().items() if pid not in known}
        if "tg-sender" in found.values():
            appeared_s = time.monotonic()
            [receiver] = [pid for pid, name in found.items() if name == "tg-receiver"]
            sleep_until(appeared_s + AFTER_S)
            start_ns = time.monotonic_ns()
            os.kill(receiver, signal.SIGSTOP)
            sleep_until(time.monotonic() + STOP_S)
            os.kill(receiver, signal.SIGCONT)
            stops_ns.append(time.monotonic_ns() - start_ns)
            known |= set(command.processes())
        time.sleep(0.1)
    return stops_ns


def sleep_until(at_s: float) -> None:
    time.sleep(max(0.0, at_s - time.monotonic()))


def test_every_default_way_was_measured(stopped: Stopped) -> None:
    assert stopped.done.code == 0
    assert len(stopped.done.runs) == len(DEFAULT_WAYS) == 21


@pytest.mark.parametrize("way", DEFAULT_WAYS)
def test_the_slowest_hundredth_waited_all_but_its_own_time_of_it(
    stopped: Stopped, way: str
) -> None:
    runs = stopped.done.runs
    [at] = [at for at, run in enumerate(runs) if run["case_id"].startswith(f"stream/{way}/")]
    assert runs[at]["failure"] is None
    latency = Histogram.from_base64(runs[at]["histograms"]["latency_ns"])
    assert latency.count == DURATION_S * RATE_PER_S
    stop_ms = stopped.stops_ns[at] / 1e6
    felt_ms = latency.max_ns / 1e6
    assert stop_ms >= STOP_S * 1e3
    assert -5 <= felt_ms - stop_ms <= 100
    assert abs(latency.percentile_ns(99) / 1e6 - (felt_ms - SLOWEST_MS)) <= 10
    # Before and after the stop nothing waited so.
    assert latency.percentile_ns(50) < 50e6
