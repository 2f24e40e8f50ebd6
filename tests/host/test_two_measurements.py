"""Two measurements on the same cores disturb each other: both are told, and one can wait."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support.command import Command
from tests.support.small_result import CASE
from tests.support.waiting import wait_until

from tinygram_bench.host.occupied import occupied
from tinygram_bench.model.result import EVERY_FIGURE, Case, Run

LONG = ("--messages", 20_000_000, "--rounds", 1, "--only", "runtime=native,strategy=nagle")
SHORT = ("--messages", 2_000, "--rounds", 1, "--only", "runtime=native,strategy=nagle")
pytestmark = pytest.mark.usefixtures("path")
of_stream = pytest.mark.parametrize("command", ["stream"], indirect=True)


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "cores.lock"
    monkeypatch.setenv("TINYGRAM_CORES_LOCK", str(path))
    return path


def cores() -> tuple[int, ...]:
    return tuple(sorted(os.sched_getaffinity(0)))


@of_stream
def test_the_second_one_is_told_and_its_runs_have_the_warning(command: Command) -> None:
    with occupied(cores(), print, waits=False) as ours:
        assert ours.others() == ()
        done = command.run(*SHORT)
    assert done.code == 0
    assert "tinygram: another measurement uses core" in done.stderr
    assert "--wait" in done.stderr
    assert {w["code"] for run in done.runs for w in run["warnings"]} >= {"other_measurement"}


@of_stream
def test_the_first_one_notices_the_second(command: Command) -> None:
    process = command.start(*SHORT[2:], "--rate", 1_000, "--duration", "3s")
    command.wait_process("tg-sender")
    with occupied(cores(), print, waits=False) as ours:
        assert ours.others()
        done = command.finish(process)
    assert (done.code, "another measurement" in done.stderr) == (0, False)
    (warning,) = [w for w in done.runs[0]["warnings"] if w["code"] == "other_measurement"]
    assert warning["figures"] == list(EVERY_FIGURE)


def test_a_run_during_which_another_measurement_began_or_ended_has_the_warning() -> None:
    with occupied(cores(), print, waits=False) as first, ExitStack() as others:

        def run_cases(cases: Sequence[Case], round: int) -> list[Run]:
            if round == 1:
                others.enter_context(occupied(cores(), print, waits=False))
            if round == 3:
                others.close()
            return [Run(case.case_id, round, {}, {}) for case in cases]

        told = first.told(run_cases)
        found = [told([CASE], round)[0] for round in range(5)]
    codes = [[each.code for each in run.warnings] for run in found]
    assert codes == [[], ["other_measurement"], ["other_measurement"], ["other_measurement"], []]


@of_stream
def test_wait_begins_when_the_other_has_ended(command: Command, tmp_path: Path) -> None:
    said = tmp_path / "said"
    command.through = ("sh", "-c", f'exec "$@" 2>{said}', "sh")
    with occupied(cores(), print, waits=False):
        process = command.start(*SHORT, "--wait")
        wait_until(lambda: said.exists() and "waiting for another" in said.read_text(), 30, "told")
        assert "tg-sender" not in command.processes().values()
    done = command.finish(process)
    assert done.code == 0
    assert "other_measurement" not in {w["code"] for run in done.runs for w in run["warnings"]}


@of_stream
def test_one_that_was_killed_hinders_nobody(command: Command) -> None:
    process = command.start(*LONG)
    command.wait_process("tg-sender")
    process.kill()
    command.finish(process)
    done = command.run(*SHORT, "--wait")
    assert (done.code, "another measurement" in done.stderr) == (0, False)


@of_stream
def test_a_file_that_is_no_lock_file_is_left_alone(
    command: Command, path: Path, tmp_path: Path
) -> None:
    """A link that somebody laid there is not followed; nothing is known then, and all runs."""
    target = tmp_path / "precious"
    path.symlink_to(target)
    done = command.run(*SHORT)
    assert (done.code, target.exists()) == (0, False)
