"""No result is lost: not by another of the same second, a full disk, or SIGKILL."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import jsonschema
import msgspec
import pytest
from tests.support.command import Command
from tests.support.processes import search_path
from tests.support.small_result import RESULT
from tests.support.waiting import LONGEST_S

from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.measurement.recording import Recording
from tinygram_bench.model import store
from tinygram_bench.model.errors import OutputError
from tinygram_bench.model.result import Result
from tinygram_bench.processes.interrupts import INTERRUPTS
from tinygram_bench.runs.progress import Progress
from tinygram_bench.schema import json_schema

COMMAND = [sys.executable, "-B", "-m", "tinygram_bench", "stream"]
WAY = ["--only", "runtime=loop,implementation=stdlib,strategy=nodelay", "--messages", "1000"]
STOPPED_CLOCK = """
import datetime

class Stopped(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 11, 22, 10, 15, tzinfo=tz)

datetime.datetime = Stopped
"""
TINY_DISK = """
mount -t tmpfs -o size="$SIZE" none "$DISK" || exit 99
[ -z "$FILLED" ] || dd if=/dev/zero of="$DISK/filling" 2>/dev/null
"$@"
code=$?
cp "$DISK"/*.json "$KEPT" 2>/dev/null
exit $code
"""
"""Run a program while there is a tiny disk, and keep what is on it then."""


def started(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *WAY, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": search_path(), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_commands_of_the_same_second_keep_a_result_each(tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.mkdir()
    (clock / "sitecustomize.py").write_text(STOPPED_CLOCK)
    path = os.pathsep.join([str(clock), search_path()])
    processes = [
        started(tmp_path, "--rounds", "1", "--seed", str(seed), PYTHONPATH=path)
        for seed in (1, 2, 3)
    ]
    said = [process.communicate(timeout=LONGEST_S)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    names = {f"20261122T101500Z-stream{end}.json" for end in ("", "-2", "-3")}
    assert {entry.name for entry in (tmp_path / "results").iterdir()} == names
    for seed, output in zip((1, 2, 3), said, strict=True):
        _, _, name = output.strip().rpartition("\nSaved: ")
        assert store.load(tmp_path / name).plan.seed == seed


@pytest.mark.parametrize("has_links", [True, False])
def test_of_those_who_claim_a_name_at_once_each_gets_a_file(
    tmp_path: Path, has_links: bool
) -> None:
    documents = [str(number).encode() for number in range(16)]
    with ProcessPoolExecutor(4) as pool:
        paths = list(pool.map(_claimed, [tmp_path] * 16, documents, [has_links] * 16))
    assert len(set(paths)) == 16
    assert [path.read_bytes() for path in paths] == documents
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def _claimed(folder: Path, document: bytes, has_links: bool) -> Path:
    def link(*_paths: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    linked = os.link
    if not has_links:
        os.link = link  # type: ignore[assignment]
    try:
        return store.claim(folder / "a.json", document)
    finally:
        os.link = linked


def on_tiny_disk(
    folder: Path, size: str, *arguments: str, is_filled: bool, temporary: str
) -> subprocess.CompletedProcess[str]:
    """`tinygram stream --json disk/a.json` in a mount namespace; what it leaves is in `kept`."""
    for name in ("disk", "kept", "temporary"):
        (folder / name).mkdir()
    permission = [] if os.geteuid() == 0 else ["--map-root-user"]
    return subprocess.run(
        [
            *("unshare", "--mount", *permission, "sh", "-c", TINY_DISK, "sh"),
            *(*COMMAND, *WAY, *arguments, "--json", "disk/a.json"),
        ],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": search_path(),
            "TMPDIR": str(folder / temporary),
            "SIZE": size,
            "DISK": str(folder / "disk"),
            "KEPT": str(folder / "kept"),
            "FILLED": "yes" if is_filled else "",
        },
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )


def test_a_full_disk_loses_neither_tables_nor_result(tmp_path: Path) -> None:
    done = on_tiny_disk(tmp_path, "64k", "--rounds", "2", is_filled=True, temporary="temporary")
    assert done.returncode == ExitCode.USAGE, done.stderr
    assert "loop/nodelay" in done.stdout
    assert "The answer" in done.stdout
    assert "Saved:" not in done.stdout
    kept = tmp_path / "temporary" / "tinygram-a.json"
    first, last = (line for line in done.stderr.splitlines() if line.startswith("tinygram:"))
    assert "cannot write disk/a.json: No space left on device" in first
    assert "the measurement goes on" in first
    assert last.startswith("tinygram: error: cannot write disk/a.json: No space left on device")
    assert last.endswith(f"; the result is in {kept} instead")
    assert [run.round for run in store.load(kept).runs] == [0, 1]
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_disk_that_becomes_full_holds_the_first_rounds(tmp_path: Path) -> None:
    done = on_tiny_disk(tmp_path, "32k", "--rounds", "12", is_filled=False, temporary="disk")
    assert done.returncode == ExitCode.USAGE, done.stderr
    assert "The answer" in done.stdout
    assert [entry.name for entry in (tmp_path / "kept").iterdir()] == ["a.json"]
    kept = [run.round for run in store.load(tmp_path / "kept" / "a.json").runs]
    assert kept == list(range(len(kept)))
    assert 1 <= len(kept) < 12
    assert done.stderr.endswith(f"; the file holds the first {len(kept)} of 12 runs\n")


def test_ctrl_c_during_a_save_that_fails_comes_when_that_was_told() -> None:
    """It is held back meanwhile, and must not wait for the next round."""
    told: list[str] = []

    def keep(_result: Result) -> None:
        INTERRUPTS.on_signal(signal.SIGINT, None)
        raise OutputError("the disk is full")

    full = SimpleNamespace(earlier=None, is_anonymous=False, keep=keep)
    recording = Recording(
        RESULT.plan,
        cast(store.Destination, full),
        {},
        None,
        cast(Progress, SimpleNamespace(warn=told.append)),
        command=("tinygram",),
        sum_up=lambda result: result,
    )
    with INTERRUPTS.handled(), pytest.raises(KeyboardInterrupt):
        recording.keep(RESULT.runs)
    assert [text[:26] for text in told] == ["tinygram: the disk is full"]


@pytest.mark.parametrize("command", ["stream"], indirect=True)
@pytest.mark.parametrize("link", ["loopback", "veth"])
def test_a_killed_command_leaves_all_rounds_but_the_last(command: Command, link: str) -> None:
    paced = ("--rate", 1000, "--duration", "500ms", "--link", link)
    process = command.start(*WAY[:2], *paced, "--rounds", 20)
    senders: set[int] = set()
    for _ in range(3):
        senders.add(command.wait_process("tg-sender", besides=frozenset(senders)))
    process.kill()
    done = command.finish(process)
    assert done.code == -signal.SIGKILL
    rounds = [run["round"] for run in done.runs]
    assert rounds == list(range(len(rounds)))
    assert len(rounds) >= 2
    assert done.result["summaries"][0]["rounds"] == len(rounds)
    assert done.result["answer"]


def test_standard_output_gets_the_result_and_nothing_else(tmp_path: Path) -> None:
    process = started(tmp_path, "--rounds", "2", "--json", "-")
    stdout, stderr = process.communicate(timeout=LONGEST_S)
    result = msgspec.json.decode(stdout, type=Result)
    assert (process.returncode, len(result.runs)) == (ExitCode.OK, 2)
    assert "loop/nodelay" in stderr
    assert "The answer" in stderr
    assert list(tmp_path.iterdir()) == []


def test_standard_output_gets_the_result_quietly(tmp_path: Path) -> None:
    process = started(tmp_path, "--rounds", "1", "--json", "-", "--quiet")
    stdout, stderr = process.communicate(timeout=LONGEST_S)
    assert (process.returncode, stderr) == (ExitCode.OK, "")
    jsonschema.validate(msgspec.json.decode(stdout), json_schema())


def test_standard_output_gets_the_finished_runs_at_ctrl_c(tmp_path: Path) -> None:
    process = started(tmp_path, "--rounds", "10000", "--json", "-")
    assert process.stderr is not None
    while "run 3/" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=LONGEST_S)
    assert process.returncode == ExitCode.INTERRUPTED
    assert len(msgspec.json.decode(stdout, type=Result).runs) >= 2
    assert stderr.endswith("tinygram: interrupted; the finished rounds are saved\n")


def test_a_reader_of_the_report_that_leaves_early_is_no_failed_run(tmp_path: Path) -> None:
    """The command ends as others do whose reader leaves; rich would have it exit with 1."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as output:
        done = subprocess.run(
            [*COMMAND, *WAY, "--rounds", "1", "--json", "a.json"],
            cwd=tmp_path,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    assert done.returncode == -signal.SIGPIPE
    assert "Traceback" not in done.stderr
    assert len(store.load(tmp_path / "a.json").runs) == 1


def test_a_full_disk_behind_standard_output_loses_nothing(tmp_path: Path) -> None:
    with open("/dev/full", "w") as output:
        done = subprocess.run(
            [*COMMAND, *WAY, "--rounds", "1", "--json", "-"],
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    assert done.returncode == ExitCode.USAGE
    assert "loop/nodelay" in done.stderr
    kept = tmp_path / "tinygram-result.json"
    assert done.stderr.endswith(
        "tinygram: error: cannot write to standard output: No space left on device; the result is "
        f"in {kept} instead\n"
    )
    assert len(store.load(kept).runs) == 1


def test_a_folder_that_is_gone_at_the_end_is_told(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    destination = store.Destination(tmp_path / "gone" / "a.json")
    destination.check()
    shutil.rmtree(tmp_path / "gone")
    with pytest.raises(OutputError, match=r"cannot write .*: No such file or directory"):
        destination.save(RESULT)
    assert destination.saved is None
