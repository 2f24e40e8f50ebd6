"""Whoever ends a measurement early keeps the finished runs, and nothing of it keeps running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.stream.faults.receivers import in_turn
from tests.support.command import Command, Done
from tests.support.small_result import RESULT

from tinygram_bench.cli import main, measuring
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.model import store
from tinygram_bench.model.result import Case, Plan, Result, Run
from tinygram_bench.runs.progress.live import Live
from tinygram_bench.runs.workload import Workload

WAY = ("--only", "runtime=loop,implementation=stdlib,strategy=nodelay")
SHORT_RUN = ("--rate", 1_000, "--duration", "500ms")
LONG_RUN = ("--rate", 1_000, "--duration", "60s")


def in_the_third_run(command: Command) -> subprocess.Popen[str]:
    """A plan of twenty runs, two of which are finished, or more where this process was stopped."""
    process = command.start(*WAY, "--rounds", 20, *SHORT_RUN)
    wait_third_run(command)
    return process


def wait_third_run(command: Command) -> None:
    senders: set[int] = set()
    for _ in range(3):
        senders.add(command.wait_process("tg-sender", besides=frozenset(senders)))


def check_finished_runs_kept(command: Command, done: Done) -> None:
    assert done.code == ExitCode.INTERRUPTED
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == "tinygram: interrupted; the finished rounds are saved"
    result = store.load(command.result_path)
    kept = [run.round for run in result.runs]
    assert (result.plan.rounds, kept) == (20, list(range(len(kept))))
    assert 2 <= len(kept) < 20
    assert all(run.failure is None for run in result.runs)
    assert result.summaries[0].rounds == len(kept)
    assert "loop/nodelay" in done.stdout
    assert done.stdout.endswith(f"\nSaved: {command.result_path}\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_finished_runs_are_saved_and_reported(command: Command, number: signal.Signals) -> None:
    process = in_the_third_run(command)
    process.send_signal(number)
    check_finished_runs_kept(command, command.finish(process))


def test_an_earlier_result_of_that_name_stays_until_a_run_is_finished(command: Command) -> None:
    """An empty one took its place."""
    store.save(RESULT, command.result_path)
    process = command.start(*WAY, "--rounds", 2, *LONG_RUN)
    command.wait_process("tg-sender")
    process.send_signal(signal.SIGTERM)
    done = command.finish(process)
    assert (done.code, done.stdout) == (ExitCode.INTERRUPTED, "")
    said = "tinygram: interrupted before a round was finished; no result is written"
    assert done.stderr.splitlines()[-1] == said
    assert store.load(command.result_path) == RESULT


def test_the_finished_runs_are_saved_when_the_terminal_is_closed(command: Command) -> None:
    """SIGHUP comes, and every write to the terminal fails from then on."""
    leader = (
        "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    words = command.words(*WAY, "--rounds", 20, *SHORT_RUN, "--json", command.result_path)
    main_fd, terminal_fd = os.openpty()
    process = command.start_words([sys.executable, "-c", leader, *words], terminal_fd=terminal_fd)
    os.close(terminal_fd)
    wait_third_run(command)
    os.close(main_fd)
    done = command.finish(process)
    assert done.code == ExitCode.INTERRUPTED
    kept = [run.round for run in store.load(command.result_path).runs]
    assert kept == list(range(len(kept)))
    assert 2 <= len(kept) < 20


def test_nohup_goes_on_when_the_terminal_is_closed(command: Command) -> None:
    words = command.words(*WAY, "--rounds", 2, *SHORT_RUN, "--json", command.result_path)
    process = command.start_words(["nohup", *words])
    command.wait_process("tg-sender")
    process.send_signal(signal.SIGHUP)
    done = command.finish(process)
    assert (done.code, len(done.runs)) == (ExitCode.OK, 2)


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_one_right_after_changes_nothing(command: Command, second: signal.Signals) -> None:
    process = in_the_third_run(command)
    process.send_signal(signal.SIGINT)
    process.send_signal(second)
    check_finished_runs_kept(command, command.finish(process))


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_one_during_the_report_does_not_cut_it_off(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    second: signal.Signals,
) -> None:
    reported: list[Result] = []

    class Bench:
        live = Live()

        def run_cases(self, cases: Sequence[Case], round: int) -> list[Run]:
            if round == 2:
                os.kill(os.getpid(), signal.SIGINT)
            return [Run(case.case_id, round, {}, {}, failure="not measured") for case in cases]

        def check(self, plan: Plan) -> None: ...

    @contextmanager
    def bench(_workload: Workload, **_: object) -> Iterator[Bench]:
        yield Bench()

    def render(result: Result, *_how: object) -> None:
        os.kill(os.getpid(), second)
        reported.append(result)

    path = tmp_path / "a.json"
    arguments = ["tinygram", "stream", *WAY, "--rounds", "20", "--json", str(path)]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(measuring, "running", bench)
    monkeypatch.setattr(measuring, "render", render)
    # Where it is not ours to handle, SIGTERM would end the tests.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as exited:
            main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert exited.value.code == ExitCode.INTERRUPTED
    assert [run.round for run in reported[0].runs] == [0, 1]
    assert capsys.readouterr().out == f"\nSaved: {path}\n"


# Each dies with the bench by its own wish, in whatever runtime, and so does what it has forked.
@pytest.mark.parametrize("runtime", ["loop", "processes", "native"])
def test_no_worker_outlives_a_killed_bench(command: Command, runtime: str) -> None:
    only = ("--only", f"runtime={runtime},strategy=nodelay")
    process = command.start(*only, "--rounds", 1, *LONG_RUN)
    command.wait_process("tg-sender")
    assert "tg-receiver" in command.processes().values()
    process.kill()
    command.wait_gone()


def test_no_program_of_the_user_outlives_a_killed_bench(command: Command) -> None:
    waiting = (
        sys.executable,
        "-c",
        "'import ctypes, time; ctypes.CDLL(None).prctl(15, b\"users-own\"); time.sleep(60)'",
    )
    process = command.start(*WAY, "--rounds", 1, *LONG_RUN, "--receiver-command", " ".join(waiting))
    command.wait_process("users-own")
    process.kill()
    command.wait_gone()


def test_no_receiver_in_the_middle_of_a_run_outlives_a_killed_bench(command: Command) -> None:
    receiver = in_turn(command.folder, "receiver")
    process = command.start(*WAY, "--rounds", 1, *LONG_RUN, "--receiver-command", receiver)
    command.wait_process("tg-sender")
    process.kill()
    command.wait_gone()
