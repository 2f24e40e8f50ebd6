"""The page is made of the result file alone: the answer first, every cell, and what is lost."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from claim.code import code
from claim.goals import goals_of
from claim.grid import OURS, SETS, Cell
from claim.result import SCHEMA_VERSION, ClaimResult, judge, load, save
from claim.runs import Measured
from tests.claim.worlds import EQUAL, FLAT_OUT, LOOP, runs_of

from claim import report

CELLS = (LOOP, FLAT_OUT, Cell("threads", 50_000.0, "onoff", 4, 100))
COSTS = {**EQUAL, "combine": 100_000.0}


def result_of(runs: list[Measured]) -> ClaimResult:
    return ClaimResult(
        schema_version=SCHEMA_VERSION,
        grid="full",
        set=SETS["tuning"],
        cells=CELLS,
        code=code(),
        environment={"kernel": "6.1"},
        command=(),
        started_utc="2026-01-01 00:00:00",
        seconds=60.0,
        ending="all rounds",
        judged=judge(CELLS, runs, SETS["tuning"].seed),
        runs=tuple(runs),
    )


@pytest.fixture(scope="module")
def held() -> ClaimResult:
    return result_of(runs_of(CELLS, {**COSTS, "nodelay": 900_000.0}))


@pytest.fixture(scope="module")
def lost() -> ClaimResult:
    return result_of(runs_of(CELLS, {**COSTS, "nagle": 40_000.0}))


def test_a_result_is_the_same_after_it_was_saved(held: ClaimResult, tmp_path: Path) -> None:
    path = tmp_path / "results" / "claim.json"
    save(held, path)
    assert load(path) == held
    assert [file.name for file in path.parent.iterdir()] == ["claim.json"]


def test_the_page_is_the_same_from_the_file(held: ClaimResult, tmp_path: Path) -> None:
    save(held, tmp_path / "claim.json")
    again = load(tmp_path / "claim.json")
    assert report.page(again) == report.page(held)
    assert report.heat_map(again) == report.heat_map(held)


def test_the_answer_comes_first(held: ClaimResult, lost: ClaimResult) -> None:
    assert "`adaptive` held 7, lost 0 (0 by more than 10 %) and 0 are undecided" in report.opening(
        held
    )
    assert report.opening(lost).startswith("The claim does not hold: ")
    assert "lost 7 (7 by more than 10 %)" in report.opening(lost)
    assert report.page(lost).index(report.opening(lost)) < report.page(lost).index("##")


def test_what_is_lost_is_listed_with_its_winner_and_why(lost: ClaimResult) -> None:
    page = report.page(lost, by_hand="It is slow.\n")
    section = page.partition("## What is lost")[2].partition("\n## ")[0]
    assert "It is slow." in section
    assert "adaptive makes fewer writes, and its decisions cost more than they save" in section
    assert "adaptive holds longer" in section
    rows = [line for line in section.splitlines() if "| nagle |" in line]
    assert len(rows) == 7
    assert all("0.5 writes a message against 1" in row for row in rows)


def test_every_cell_is_on_the_page(held: ClaimResult) -> None:
    page = report.page(held)
    section = page.partition("## Every cell")[2].partition("\n## ")[0]
    for cell in CELLS:
        assert f"| {cell.load}, {cell.message_bytes} B |" in section
    assert "### loop" in section
    assert "### threads" in section


def test_goals_that_nothing_was_measured_for_are_not_met() -> None:
    nothing = result_of([])
    assert not report.holds(nothing)
    assert not any(goal.is_met for goal in goals_of(nothing))
    assert "7 comparisons were not made" in report.opening(nothing)
    assert report.page(nothing)


def test_an_interrupted_measurement_says_so(held: ClaimResult) -> None:
    early = msgspec.structs.replace(held, ending="interrupted")
    assert "ended early (interrupted)" in report.opening(early)


def test_worst_regrets_of_ours_must_be_a_tenth_of_the_best_single_one(held: ClaimResult) -> None:
    regrets = [goal for goal in goals_of(held) if goal.text.startswith("worst regret")]
    assert len(regrets) == 5
    # Here all fixed strategies but one are as good: a tenth of nothing is not reached.
    assert report.holds(held) == all(goal.is_met for goal in goals_of(held))


def test_the_picture_has_a_square_for_every_strategy_of_every_cell(lost: ClaimResult) -> None:
    picture = ElementTree.fromstring(report.heat_map(lost))
    space = "{http://www.w3.org/2000/svg}"
    titles = [title.text or "" for title in picture.iter(f"{space}title")]
    # Three figures of two paced cells, and one of one that is flat out.
    assert len(titles) == 7 * len(LOOP.strategies)
    ours = [title for title in titles if title.startswith(OURS)]
    assert all(title.endswith(" %") and "+" in title for title in ours)
    texts = {text.text for text in picture.iter(f"{space}text")}
    assert {"loop", "threads", OURS, "10k/s poisson × 1, 100 B"} <= texts
    style = picture.findtext(f"{space}style")
    assert style is not None
    assert "prefers-color-scheme:dark" in style
