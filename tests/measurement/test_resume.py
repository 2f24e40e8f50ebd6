"""`--resume FILE`: what was ended goes on, and ends as if nothing had been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.support.command import Command, run_once
from tests.support.small_result import CASE, RESULT
from tests.support.waiting import LONGEST_S, wait_until

from tinygram_bench.cli import main, measuring
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.crosscheck.interleaved import Interleaved
from tinygram_bench.measurement.resuming import whole_rounds_of
from tinygram_bench.model import store
from tinygram_bench.model.cross_check import CrossCheck, Peer, PeerRun
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Case, Plan, Result, Run
from tinygram_bench.model.store.file_lock import FileLock
from tinygram_bench.runs.progress.live import Live
from tinygram_bench.runs.rounds import ordered
from tinygram_bench.runs.workload import Workload

ATTEMPTS = 10
TWO_WAYS = (
    *("--only", "runtime=loop,implementation=stdlib,strategy=nodelay", "--messages", 1000),
    *("--only", "runtime=loop,implementation=stdlib,strategy=nagle"),
)
CALLS = (
    *("--callers", "1x2", "--pin", "none", "--sends-per-request", 1, "--calls", 20),
    *("--connections", "per-caller"),
)
ECHOES = (
    *("--only", "runtime=native", "--only", "runtime=threads,server=recv"),
    *("--messages", 500, "--size", 100),
)
CELLS = ("--sizes", "1,100", "--round-trips", 1, "--no-local", "--pin", "none", "--samples", 100)


def killed(command: Command, *arguments: object, rounds: int = 4) -> Result:
    """What is left of a measurement that is killed in its second round, or later.

    One that has ended by then, because the host had stopped this test, is made anew.
    """
    for _ in range(ATTEMPTS):
        process = command.start(*arguments, "--rounds", rounds)
        left = left_by(command, process, command.result_path)
        if not is_whole(left):
            return left
        command.result_path.unlink()
    raise AssertionError(f"it had ended in all {ATTEMPTS} attempts")


def left_by(command: Command, process: subprocess.Popen[str], path: Path) -> Result:
    wait_until(path.exists, LONGEST_S, "the first round is saved")
    process.kill()
    command.finish(process)
    left = store.load(path)
    assert left.runs
    return left


def is_whole(left: Result) -> bool:
    return len(left.runs) == len(left.plan.cases) * left.plan.rounds


def resumed(command: Command, path: Path, *arguments: object) -> tuple[int, str, str]:
    process = command.start_words(command.words("--resume", path, *arguments))
    stdout, stderr = command.said_at_end(process)
    command.wait_gone()
    return process.returncode, stdout, stderr


Told = Callable[..., tuple[object, str, str]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """`tinygram stream --resume FILE …` in this process, where that ends before a run is made.

    A command's lock ends with its process; here it ends with the call.
    """
    locks: list[FileLock] = []

    def lock() -> FileLock:
        locks.append(FileLock())
        return locks[-1]

    def call(path: Path, *arguments: object) -> tuple[object, str, str]:
        words = ["tinygram", "stream", "--resume", str(path), *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.setattr(store, "FileLock", lock)
        try:
            with pytest.raises(SystemExit) as ended:
                main()
        finally:
            for each in locks:
                each.close()
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return call


def check_whole(result: Result, left: Result) -> None:
    """All cases in all rounds, in the plan's order, and what was there already as it was."""
    plan = result.plan
    expected = [(case.case_id, at) for at in range(plan.rounds) for case in ordered(plan, at)]
    assert [(run.case_id, run.round) for run in result.runs] == expected
    assert result.runs[: len(left.runs)] == left.runs
    assert all(run.failure is None for run in result.runs)
    assert (plan, result.command, result.started_at) == (left.plan, left.command, left.started_at)
    assert [each.finished_runs for each in result.resumptions] == [len(left.runs)]
    assert {summary.rounds for summary in result.summaries} == {plan.rounds}
    assert result.answer


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("stream", TWO_WAYS),
        ("stream", (*TWO_WAYS, "--link", "veth")),
        ("rr", CALLS),
        ("echo", ECHOES),
        ("sizes", CELLS),
    ],
    indirect=["command"],
    ids=["stream", "stream over a link", "rr", "echo", "sizes"],
)
def test_a_killed_measurement_goes_on(command: Command, arguments: tuple[object, ...]) -> None:
    left = killed(command, *arguments)
    code, stdout, stderr = resumed(command, command.result_path)
    assert (code, stdout.splitlines()[-1]) == (ExitCode.OK, f"Saved: {command.result_path}"), stderr
    check_whole(store.load(command.result_path), left)


@pytest.mark.parametrize("command", ["stream"], indirect=True)
def test_a_killed_measurement_of_a_default_name_goes_on(command: Command) -> None:
    process = command.start_words(command.words(*TWO_WAYS, "--rounds", 8))
    results = command.folder / "results"
    # A new file has its name a moment before its temporary one is gone.
    wait_until(
        lambda: [entry.suffix for entry in results.glob("*")] == [".json"],
        LONGEST_S,
        "the first round is saved",
    )
    (path,) = results.glob("*.json")
    left = left_by(command, process, path)
    assert not is_whole(left)
    code, _, stderr = resumed(command, path, "--quiet")
    assert (code, stderr) == (ExitCode.OK, "")
    check_whole(store.load(path), left)
    assert list(results.iterdir()) == [path]


@pytest.mark.parametrize("command", ["stream"], indirect=True)
def test_an_interrupted_measurement_goes_on_with_its_round_from_the_start(command: Command) -> None:
    paced = ("--rate", 1000, "--duration", "300ms")
    process = command.start(*TWO_WAYS[:2], *TWO_WAYS[4:], *paced, "--rounds", 4)
    senders: set[int] = set()
    for _ in range(4):
        senders.add(command.wait_process("tg-sender", besides=frozenset(senders)))
    process.send_signal(signal.SIGINT)
    command.finish(process)
    left = store.load(command.result_path)
    code, _, stderr = resumed(command, command.result_path)
    assert code == ExitCode.OK, stderr
    of_whole_rounds = left.runs[: len(left.runs) // 2 * 2]
    check_whole(
        store.load(command.result_path), msgspec.structs.replace(left, runs=of_whole_rounds)
    )


def test_what_is_resumed_and_ended_at_once_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also the runs of its last round, which are only left out when that round is run again."""
    runs_left = 3

    @contextmanager
    def bench(_workload: Workload, **_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(run_cases=run_cases, check=lambda _plan: None, live=Live())

    def run_cases(cases: Sequence[Case], round: int) -> list[Run]:
        nonlocal runs_left
        (case,) = cases
        if not runs_left:
            os.kill(os.getpid(), signal.SIGINT)
        runs_left -= 1
        return [Run(case.case_id, round, {}, {}, failure="not measured")]

    def exit_code(*words: str) -> object:
        monkeypatch.setattr(sys, "argv", ["tinygram", "stream", *words, "--quiet"])
        with pytest.raises(SystemExit) as exited:
            main()
        return exited.value.code

    monkeypatch.setattr(measuring, "running", bench)
    path = tmp_path / "a.json"
    begun = exit_code(*map(str, TWO_WAYS), "--rounds", "2", "--json", str(path))
    before = path.read_bytes()
    assert (begun, len(store.load(path).runs)) == (ExitCode.INTERRUPTED, 3)
    runs_left = 0
    assert exit_code("--resume", str(path)) == ExitCode.INTERRUPTED
    assert path.read_bytes() == before


@pytest.mark.parametrize("command", ["stream"], indirect=True)
@pytest.mark.parametrize("is_first_resumed", [False, True])
def test_a_file_that_a_measurement_is_writing_is_not_resumed(
    command: Command, told: Told, is_first_resumed: bool
) -> None:
    """Two that wrote one file each replaced what the other had measured."""
    path = command.result_path
    paced = (*TWO_WAYS[:2], "--rate", 1000, "--duration", "500ms", "--rounds", 9)
    first = command.start(*paced)
    wait_until(path.exists, LONGEST_S, "the first round is saved")
    if is_first_resumed:
        first.kill()
        command.finish(first)
        first = command.start_words(command.words("--resume", path))
        command.wait_process("tg-sender")
    for _ in range(2):  # The second time another file has got the name.
        first.send_signal(signal.SIGSTOP)
        before = path.stat().st_ino
        code, stdout, stderr = told(path)
        assert (code, stdout) == (ExitCode.USAGE, ""), stderr
        assert stderr.startswith(f"tinygram: error: {path} cannot be resumed: another measurement")
        assert (first.poll(), path.stat().st_ino) == (None, before)
        first.send_signal(signal.SIGCONT)
        wait_until(partial(is_other_file, path, before), LONGEST_S, "another round is saved")
    assert command.finish(first).code == ExitCode.OK
    assert [run.round for run in store.load(path).runs] == list(range(9))
    assert told(path)[0] == ExitCode.OK, "the lock went with its process"


def is_other_file(path: Path, inode: int) -> bool:
    return path.stat().st_ino != inode


@pytest.mark.parametrize("command", ["stream"], indirect=True)
def test_of_two_that_resume_a_file_at_once_one_goes_on(command: Command) -> None:
    left = killed(command, *TWO_WAYS)
    both = [command.start_words(command.words("--resume", command.result_path)) for _ in "12"]
    said = [command.said_at_end(process)[1] for process in both]
    command.wait_gone()
    # The one that was refused, or that came when the other had finished.
    codes = sorted(process.returncode for process in both)
    is_refused = any("another measurement is writing it" in each for each in said)
    assert codes == ([ExitCode.OK, ExitCode.USAGE] if is_refused else [ExitCode.OK] * 2), said
    check_whole(store.load(command.result_path), left)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The content of a result file that is finished."""
    folder = tmp_path_factory.mktemp("whole")
    assert run_once(folder, "stream", *TWO_WAYS, "--rounds", 2).code == ExitCode.OK
    return (folder / "result.json").read_bytes()


@pytest.fixture
def finished(whole: bytes, tmp_path: Path) -> Path:
    """A result file that is finished."""
    path = tmp_path / "result.json"
    path.write_bytes(whole)
    return path


def rewritten(path: Path, **parts: Any) -> bytes:
    store.save(msgspec.structs.replace(store.load(path), **parts), path)
    return path.read_bytes()


def test_what_cannot_go_on_is_refused_and_stays_as_it_is(told: Told, finished: Path) -> None:
    """One file stands for all these, for a measurement takes longer than each."""

    def refused(*arguments: object) -> str:
        before = finished.read_bytes()
        code, stdout, stderr = told(finished, *arguments)
        assert (code, stdout) == (ExitCode.USAGE, "")
        assert stderr.count("\n") == 1
        assert finished.read_bytes() == before
        assert list(finished.parent.iterdir()) == [finished]
        return stderr

    code, stdout, stderr = told(finished)
    assert code == ExitCode.OK
    assert "loop/nodelay" in stdout
    assert stderr == f"tinygram: {finished} is finished: it has all 4 runs; nothing was run\n"
    assert told(finished, "--rounds", 2, "--messages", 1000)[0] == ExitCode.OK

    said = refused("--rounds", 3, "--seed", 2, "--messages", 1000)
    assert said.startswith(f"tinygram: error: --rounds, --seed: {finished} was measured with ")
    assert "--json cannot be combined with --resume" in refused("--json", "b.json")

    result = store.load(finished)
    rewritten(finished, runs=result.runs[:3], environment=result.environment | {"cpu_model": "Z80"})
    assert "figures of another CPU (Z80 before" in refused()
    rewritten(finished, command=("tinygram", "rr"), environment=result.environment)
    assert "was measured by `tinygram rr`: resume it by that" in refused()
    rewritten(finished, command=("tinygram", "rerun", "a.json"), environment=result.environment)
    assert f"measure its plan from the start with `tinygram rerun {finished}`" in refused()
    rewritten(finished, command=(*result.command, "--soon"))
    assert "this tinygram does not take its options" in refused()
    (first, *others) = result.plan.cases
    odd = msgspec.structs.replace(first, case_id="stream/else", strategy="cork")
    plan = msgspec.structs.replace(result.plan, cases=(odd, *others))
    rewritten(finished, command=result.command, plan=plan, runs=(), summaries=(), verdicts=())
    assert "its options give other cases here" in refused()

    finished.write_bytes(finished.read_bytes()[:2000])
    assert "is not a result file of tinygram: Input data was truncated" in refused()
    finished.write_bytes(b'{"some": "other file"}')
    assert "is not a result file of tinygram" in refused()


@pytest.mark.parametrize("command", ["stream"], indirect=True)
def test_what_goes_on_with_another_kernel_is_marked(command: Command, finished: Path) -> None:
    result = store.load(finished)
    kernel = result.environment["kernel"]
    before = result.environment | {"kernel": "5.0"}
    rewritten(finished, runs=result.runs[:3], environment=before, host="elsewhere")
    code, _, stderr = resumed(command, finished)
    assert code == ExitCode.OK, stderr
    found = store.load(finished)
    assert found.environment == before
    assert found.resumptions[0].differs["kernel"] == kernel
    of_runs = [
        [each.code for each in run.warnings].count("resumed_elsewhere") for run in found.runs
    ]
    assert of_runs == [0, 0, 1, 1], "the third run, of a round that was not finished, is made anew"
    assert found.resumptions[0].finished_runs == 2
    (said,) = [each for each in found.runs[3].warnings if each.code == "resumed_elsewhere"]
    assert f"kernel (5.0 before, {kernel} now)" in said.message
    assert "host (elsewhere before" in said.message


def test_a_round_in_which_only_a_peer_is_missing_is_run_afresh() -> None:
    """Its own run would be compared with one of the peer that came days later."""
    peer = Peer("sockperf/nodelay", "sockperf", "3.8", "a", "f", (), "b", "m", ())
    runs = tuple(Run(CASE.case_id, round, {}, {}) for round in range(3))
    of_peer = tuple(PeerRun(peer.peer_id, round, 1.0, {}) for round in (0, 2))
    left = msgspec.structs.replace(
        RESULT,
        plan=Plan((CASE,), 4, 1),
        runs=runs,
        cross_check=CrossCheck((peer,), of_peer[:1], ()),
    )
    whole = whole_rounds_of(left)
    assert whole.cross_check == left.cross_check
    assert whole.runs == runs[:1]
    later = msgspec.structs.replace(
        left, runs=runs[:2], cross_check=CrossCheck((peer,), of_peer, ())
    )
    assert whole_rounds_of(later) == whole


def test_other_peers_than_before_are_refused() -> None:
    """Their versions are in the file: figures of two versions are no sample of one program."""
    peers = Interleaved(Plan((CASE,), 1, 1), (), ())
    assert peers.go_on(CrossCheck((), (), ())) == ()
    peer = Peer("sockperf/nodelay", "sockperf", "3.8", "a", "f", (), "b", "m", ())
    with pytest.raises(UsageError, match=r"were sockperf/nodelay 3\.8 when .* and are none now"):
        peers.go_on(CrossCheck((peer,), (), ()))
