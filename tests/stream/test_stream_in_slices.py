"""`tinygram stream --slice`: the cases of a load are up side by side, and take turns."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from tests.support.command import Command
from tests.support.waiting import wait_until

from tinygram_bench.model.store import load
from tinygram_bench.statistics.figures.samples import samples_of
from tinygram_bench.statistics.verdicts.comparison import round_ratios

TWO = ("--runtime", "loop", "--only", "implementation=stdlib")
TWO_WAYS = (*TWO, "--strategy", "nodelay", "--strategy", "nagle")
SLICED = ("--rate", "2k", "--size", "100", "--slice", "20ms", "--duration", "300ms", *TWO_WAYS)
SLICES = 15


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    command = Command(tmp_path)
    yield command
    command.end()


def test_each_run_has_its_figures_slice_by_slice(command: Command) -> None:
    done = command.run(*SLICED, "--rounds", "2")
    assert done.code == 0, done.stderr
    assert len(done.runs) == 4
    for run in done.runs:
        assert run["failure"] is None
        assert run["counters"]["messages"] == 600
        p50_us = run["slices"]["latency_p50_us"]
        assert len(p50_us) == SLICES
        assert all(each > 0 for each in p50_us)
        # 34 of the 40 messages of a slice are measured, and 500 make a block.
        assert len(run["slices"]["latency_p99_us"]) == 1
        assert run["slices"]["latency_p99_9_us"] == []
        assert len(run["slices"]["cpu_s_per_million"]) == SLICES
        assert run["sample_counts"]["latency_ns"] == pytest.approx(SLICES * 34, abs=SLICES)
    verdicts = [each for each in done.result["verdicts"] if each["figure"] == "latency_p50_us"]
    assert verdicts


def test_a_rounds_ratio_is_the_median_of_its_slices(command: Command) -> None:
    assert command.run(*SLICED, "--rounds", "2").code == 0
    result = load(command.result_path)
    base, case = samples_of(result.plan, result.runs).values()
    ratios = round_ratios(base, case, "latency_p50_us")
    below, above = (sample.slices("latency_p50_us")[0] for sample in (base, case))
    pairs = zip(below, above, strict=True)
    assert ratios[0] == median(b / a for a, b in pairs if a is not None and b is not None)
    assert len(ratios) == 2


def test_loads_that_differ_take_turns_apart(command: Command) -> None:
    done = command.run(*SLICED, "--rate", "4k", "--rounds", "1")
    assert done.code == 0, done.stderr
    assert len(done.runs) == 4
    assert {len(run["slices"]["latency_p50_us"]) for run in done.runs} == {SLICES}


def test_a_case_that_dies_in_its_slices_fails_by_name_and_the_other_loses_nothing(
    command: Command,
) -> None:
    long = ("--rate", "2k", "--slice", "20ms", "--duration", "2s", *TWO_WAYS)
    process = command.start(*long, "--rounds", "1")

    def senders() -> list[int]:
        return [pid for pid, name in command.processes().items() if name == "tg-sender"]

    wait_until(lambda: len(senders()) == 2, 60, "two senders")
    os.kill(max(senders()), signal.SIGKILL)
    done = command.finish(process)
    assert done.code == 1
    failures = [run["failure"] for run in done.runs]
    assert failures.count(None) == 1
    assert any(failure is not None and "sender" in failure for failure in failures)
    (good,) = [run for run in done.runs if run["failure"] is None]
    assert good["counters"]["messages"] == 4_000


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--slice", "20ms"), "--slice needs a schedule: add --rate"),
        (("--rate", "500", "--slice", "20ms"), "--slice 20ms holds fewer than 20 messages"),
        (("--rate", "10k", "--slice", "3s"), "--slice 3s is longer than the 2s"),
        (("--rate", "10k", "--slice", "banana"), "--slice"),
    ],
)
def test_slices_that_cannot_be_are_refused(
    command: Command, words: tuple[str, ...], fault: str
) -> None:
    done = command.run(*words, "--rounds", "1")
    assert done.code == 2
    assert fault in " ".join(done.stderr.split())


def test_without_slices_a_run_has_none(command: Command) -> None:
    words = ("--rate", "2k", "--duration", "100ms", *TWO_WAYS, "--rounds", "1")
    assert command.run(*words).code == 0
    stored = json.loads(command.result_path.read_text())
    assert all(not run.get("slices") for run in stored["runs"])
