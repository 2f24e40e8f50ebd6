"""`tinygram stream --slice`: the cases of a load are up side by side, and take turns."""

from __future__ import annotations

import os
import signal
import struct
from pathlib import Path

import pytest
from tests.support.command import Command, Refused
from tests.support.plans.stream import planned
from tests.support.waiting import wait_until

from tinygram_bench import _native
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.workloads.stream.warnings import warnings_of

TWO = ("--runtime", "loop", "--only", "implementation=stdlib")
TWO_WAYS = (*TWO, "--strategy", "nodelay", "--strategy", "nagle")
SLICED = ("--rate", "2k", "--size", "100", "--slice", "20ms", "--duration", "300ms", *TWO_WAYS)
SLICES = 15
MS = 1_000_000


def test_each_run_has_its_figures_slice_by_slice(command: Command) -> None:
    """Two rounds of two ways in turns."""
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
        # What the pacer is late with is told as what the messages took.
        errors_us = run["slices"]["pacing_error_p50_us"]
        assert len(errors_us) == SLICES
        assert all(late <= whole for late, whole in zip(errors_us, p50_us, strict=True))
        assert len(run["slices"]["pacing_error_p99_us"]) == 1
        assert len(run["slices"]["cpu_s_per_million"]) == SLICES
        assert run["counters"]["slices"] == SLICES
        assert run["sample_counts"]["latency_ns"] == pytest.approx(SLICES * 34, abs=SLICES)
    verdicts = [each for each in done.result["verdicts"] if each["figure"] == "latency_p50_us"]
    assert verdicts


def test_loads_that_differ_take_turns_apart(command: Command) -> None:
    done = command.run(*SLICED, "--rate", "4k", "--rounds", "1")
    assert done.code == 0, done.stderr
    assert len(done.runs) == 4
    assert {len(run["slices"]["latency_p50_us"]) for run in done.runs} == {SLICES}


def test_a_case_that_dies_while_all_start_fails_by_name_and_the_other_loses_nothing(
    command: Command,
) -> None:
    # They last longer than a busy host may take to find them.
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
        (("--slice", "20ms", "--messages", "5"), "--messages cannot be combined with --slice"),
        (("--slice", "20ms", "--cross-check"), "--cross-check cannot be combined with --slice"),
        (("--lone", "--duration", "1s"), "--duration needs cases that take turns, or --rate"),
        (("--slice", "20ms", "--lone"), "--lone cannot be combined with --slice"),
        (("--rate", "500", "--slice", "20ms"), "--slice 20ms holds fewer than 20 messages"),
        (
            ("--rate", "1k", "--burst", "500", "--slice", "20ms"),
            "--slice 20ms holds fewer than 4 bursts of 500 messages at --rate 1000: name",
        ),
        (
            ("--duration", "10ms", "--only", "loop/nodelay"),
            "allow 20ms or more, or name --messages",
        ),
        (("--rate", "10k", "--slice", "3s"), "--slice 3s is longer than the 2s"),
        (("--rate", "10k", "--slice", "banana"), "--slice"),
        (("--slice", "1ns"), "--slice 1ns is too short: cases take turns of 1ms at least"),
        (("--rate", "10k", "--slice", "999us"), "--slice 999us is too short"),
        (
            ("--slice", "5ms", "--size", "64KiB"),
            "--slice 5ms holds fewer than 20 bursts of 64 messages of 64KiB: name at least "
            "20971520ns",
        ),
        (("--rate", "10k", "--slice", "20ms", "--probe", "10ms"), "--probe cannot be combined"),
        (("--rate", "10k", "--slice", "20ms", "--busy-thread"), "--busy-thread cannot be combined"),
    ],
)
def test_slices_that_cannot_be_are_refused(
    tmp_path: Path, refused: Refused, words: tuple[str, ...], fault: str
) -> None:
    path = tmp_path / "result.json"
    refused(("stream", *words, "--rounds", "1", "--json", str(path)), (fault,))
    assert not path.exists()


@pytest.mark.parametrize("load", [("--rate", "2k", "--duration", "100ms"), ("--messages", "500")])
def test_cases_that_run_alone_have_no_slices(command: Command, load: tuple[str, ...]) -> None:
    lone = () if "--messages" in load else ("--lone",)
    done = command.run(*load, *lone, *TWO_WAYS, "--rounds", "1")
    assert done.code == 0
    assert not any("slice_ns" in case["parameters"] for case in done.result["plan"]["cases"])
    assert not any(run.get("slices") for run in done.runs)


def test_slices_nobody_asked_for_are_as_long_as_the_rate_needs(command: Command) -> None:
    rates = ("--rate", "10k", "--rate", "500")
    done = command.run(*rates, "--duration", "100ms", *TWO_WAYS, "--rounds", "1")
    assert done.code == 0
    found = {
        case["rate_per_s"]: case["parameters"]["slice_ns"] for case in done.result["plan"]["cases"]
    }
    # 20 messages take 40 ms, and two slices fill the 100 ms.
    assert found == {10_000: 10 * MS, 500: 50 * MS}


def test_what_settles_is_left_out_and_what_comes_late_is_told() -> None:
    begins_ns, slice_ns, settling_ns = (0, 50 * MS), 20 * MS, 3 * MS
    pool = _native.MessagePool(1, 100, 100)
    start_ns, warm_up, latency_ns = 10**9, 5, 100_000
    notes = b""
    for number in range(80):
        # Equal gaps begin within the first one.
        own_ns = (number + 1) * MS // 2 - 190_983
        at_ns = start_ns + begins_ns[number // 40] + own_ns - number // 40 * slice_ns + latency_ns
        if number == 39:
            at_ns += 25 * MS
        notes += struct.pack("<QQ", pool.stream_bytes(warm_up + number + 1), at_ns)
    pace = (2_000.0, "constant", 1, 40 * MS, 1)
    slices = (begins_ns, slice_ns, settling_ns)
    latency, found, whole, early_ns = _native.match_sliced(
        notes, pool, warm_up, start_ns, *pace, slices
    )
    # Messages are due every 0.5 ms: the first six of each slice are due while it settles.
    assert [len(each) for each in found] == [34, 34]
    assert latency.count == 68
    assert set(found[0][:-1]) == set(found[1]) == {latency_ns}
    assert found[0][-1] == latency_ns + 25 * MS
    # The last of a slice is due 190,983 ns before its end.
    assert whole == [(40, 25 * MS + latency_ns - 190_983), (40, 0)]
    assert early_ns == 0


def test_a_sender_that_is_busy_between_its_slices_is_told() -> None:
    case = planned("loop/stdlib/nodelay", rates_per_s=[2_000.0], slice_ns=20 * MS).cases[0]
    counters: dict[str, int | None] = dict.fromkeys(("writes", "retransmits", "run_time_ns"), 0)
    counters |= {"slices": 100, "resting_cpu_ns": 0}

    def codes(**changed: int | None) -> list[str]:
        found = warnings_of(case, counters | changed, has_private_network=True)
        return [each.code for each in found]

    assert codes() == []
    assert codes(resting_cpu_ns=10**9) == ["not_at_rest"]
    assert codes(resting_cpu_ns=None) == []


def test_an_interrupt_among_slices_ends_all_and_writes_nothing(command: Command) -> None:
    long = ("--rate", "2k", "--slice", "20ms", "--duration", "5s", *TWO_WAYS)
    process = command.start(*long, "--rounds", "2")
    wait_until(
        lambda: list(command.processes().values()).count("tg-sender") == 2, 60, "two senders"
    )
    process.send_signal(signal.SIGINT)
    done = command.finish(process)
    assert done.code == ExitCode.INTERRUPTED
    assert "interrupted before a round was finished" in done.stderr
    assert done.result is None
