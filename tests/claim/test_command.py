"""`python -m claim` from its command line to its page, and Ctrl-C in its midst."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from claim.grid import OURS
from claim.page.report import sentences
from claim.result import ClaimResult, claim_of
from tests.support.processes import children_of
from tests.support.waiting import wait_until

from tinygram_bench.model import store

ROOT = Path(__file__).parents[2]
CELL = ("--grid", "quick", "--runtime", "loop", "--only", "flat out × 64")
OVER_LINK = ("--grid", "links", "--runtime", "loop", "--only", "flat out × 16, over rtt=1ms")
LONGEST_S = 300.0


def load(path: Path) -> ClaimResult:
    return claim_of(store.load(path))


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    files = ("--out", str(folder / "claim.json"), "--page", str(folder / "claim.md"))
    return subprocess.Popen(
        [sys.executable, "-m", "claim", *arguments, *files],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "benches")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("cell", [CELL, OVER_LINK], ids=["loopback", "link"])
def test_it_measures_saves_and_writes_the_page(tmp_path: Path, cell: tuple[str, ...]) -> None:
    process = start(tmp_path, *cell, "--rounds", "2")
    said, errors = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 1, errors
    assert "This shows nothing of the claim: 0 of the" in said
    result = load(tmp_path / "claim.json")
    assert not result.is_early
    assert result.failures == []
    assert store.load(tmp_path / "claim.json").answer == sentences(result)
    ran = [{each.run.strategy for each in result.runs if each.round == round} for round in (1, 2)]
    assert ran[0] == set(result.cells[0].strategies)
    # What was hopeless in the first round is in no second one.
    assert OURS in ran[1]
    assert ran[1] <= ran[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "claim.json",
        "claim.md",
        "claim.svg",
    ]
    page = (tmp_path / "claim.md").read_text()
    assert result.code.sources_sha256 in page
    again = start(tmp_path, "--report", str(tmp_path / "claim.json"))
    again.communicate(timeout=LONGEST_S)
    assert (tmp_path / "claim.md").read_text() == page


def test_longer_slices_are_measured_where_they_are_asked_for(tmp_path: Path) -> None:
    paced = ("--grid", "quick", "--runtime", "loop", "--only", "10k/s poisson × 1")
    process = start(tmp_path, *paced, "--slice-ms", "40", "--rounds", "1")
    said, errors = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 1, errors
    assert "in slices of 40 ms or longer, not the grid's" in said
    result = load(tmp_path / "claim.json")
    assert (result.slice_ms, result.failures) == (40, [])
    assert {case.parameters.slice_ns for case in result.cases} == {40_000_000}
    # The CPU time of the last slice is not known.
    assert {len(run.costs["sum"]) for run in result.runs} == {3}
    assert "3 to 3 slices each, of 40 to 40 ms" in (tmp_path / "claim.md").read_text()
    told = start(tmp_path, "--report", str(tmp_path / "claim.json"), "--into", "docs/claim.md")
    _, errors = told.communicate(timeout=LONGEST_S)
    assert (
        "docs/claim.md has no part for grid 'quick' and set 'tuning' in longer slices: it has "
        "those for grid 'full' and set 'confirm', and for " in errors
    )


def test_ctrl_c_keeps_what_was_measured_and_leaves_no_process(tmp_path: Path) -> None:
    process = start(tmp_path, *CELL)
    assert process.stderr is not None
    for line in process.stderr:
        if "round 2/" in line:
            break
    wait_until(lambda: len(children_of(process.pid)) >= 2, LONGEST_S, "a round has processes")
    of_round = children_of(process.pid)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 130
    assert "the measurement ended early" in said
    assert not any(Path(f"/proc/{pid}").exists() for pid in of_round)
    result = load(tmp_path / "claim.json")
    assert result.is_early
    assert result.failures == []


def test_the_set_to_confirm_with_is_measured_once(tmp_path: Path) -> None:
    confirm = (*CELL, "--set", "confirm", "--rounds", "1")
    first = start(tmp_path, *confirm)
    _, errors = first.communicate(timeout=LONGEST_S)
    assert first.returncode == 1, errors
    second = start(tmp_path, *confirm)
    _, errors = second.communicate(timeout=LONGEST_S)
    assert "was measured before, and counts once" in errors
    third = start(tmp_path, *confirm, "--again")
    third.communicate(timeout=LONGEST_S)
    (earlier,) = load(tmp_path / "claim.json").earlier
    assert f"Set *confirm* was measured before: {earlier}" in (tmp_path / "claim.md").read_text()
