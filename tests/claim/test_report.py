"""The page is made of the result file alone: the answer first, every cell, and what is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from claim.grid import GRIDS, OURS, SETS
from claim.judging.compare import LOOKS
from claim.others import Others
from claim.page import report
from claim.page.goals import count_of, goals_of
from claim.page.summary import parts, summary
from claim.planned import PlannedRun, all_runs
from claim.result import About, ClaimResult, claim_of, is_whole
from claim.runs import Measured
from tests.claim.worlds import (
    CELLS,
    LOOP,
    changed,
    each_best_once,
    late,
    result_of,
)
from tests.support.small_result import RESULT

from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import StreamParameters, StudySwitches
from tinygram_bench.model.result import Case, Plan, Result, Run
from tinygram_bench.report import answer_of


@pytest.fixture
def small_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim is about these few cells."""
    monkeypatch.setitem(GRIDS, "full", lambda _: list(CELLS))


def stored(claim: ClaimResult) -> Result:
    """What the bench would have kept of it."""
    cases = {run: run.case(claim.cells, "same") for run in all_runs(claim.cells)}
    about = About("claim", claim.grid, claim.set, claim.code)
    return msgspec.structs.replace(
        RESULT,
        environment=claim.environment | {"study": msgspec.to_builtins(about)},
        plan=Plan(tuple(cases.values()), LOOKS[0], claim.set.seed),
        runs=tuple(
            Run(cases[run.run].case_id, run.round - 1, counters_of(run), {}, slices=slices_of(run))
            for run in claim.runs
        ),
        summaries=(),
        verdicts=(),
        started_at=claim.started_at,
    )


def counters_of(run: Measured) -> dict[str, int | None]:
    return {
        "messages": run.messages,
        "writes": run.writes,
        "hold_mean_ns": None if run.hold_mean_ns is None else round(run.hold_mean_ns),
    }


def slices_of(run: Measured) -> dict[str, tuple[float | None, ...]]:
    late_us = (None if run.late_ns is None else run.late_ns / 1e3,)
    if "throughput" in run.costs:
        per_s = tuple(None if each is None else 1e9 / each for each in run.costs["throughput"])
        return {"throughput_per_s": per_s, "late_us": late_us}
    in_us = {
        name: tuple(None if each is None else each / 1e3 for each in slices)
        for name, slices in run.costs.items()
    }
    both = zip(in_us["sum"], in_us["cpu"], strict=True)
    return {
        "net_latency_p50_us": in_us["p50"],
        "net_latency_p99_us": in_us["p99"],
        "net_latency_mean_us": tuple(None if a is None or b is None else a - b for a, b in both),
        "cpu_s_per_million": in_us["cpu"],
        "late_us": late_us,
    }


def test_the_method_tells_of_the_slices_that_were_measured(held: ClaimResult) -> None:
    page = report.page(held, "", "")
    assert "in\n  15 to 30 slices each, of 5 to 10 ms" in page
    assert "pushed out by the sender" in page
    before = [in_long_slices(case) for case in held.cases]
    page = report.page(replace(held, cases=tuple(before)), "", "")
    assert "in\n  10 to 10 slices each, of 20 to 20 ms" in page
    assert "pushed out by the sender" not in page


def in_long_slices(case: Case) -> Case:
    asked = StreamParameters.of(case)
    asked = msgspec.structs.replace(
        asked, slice_ns=20_000_000, duration_ns=200_000_000, study=StudySwitches()
    )
    return msgspec.structs.replace(case, parameters=asked)


def test_the_page_is_the_same_from_the_benchs_result_file(
    held: ClaimResult, tmp_path: Path
) -> None:
    store.save(stored(held), tmp_path / "claim.json")
    again = claim_of(store.load(tmp_path / "claim.json"))
    assert len(again.runs) == len(held.runs)
    assert not again.is_early
    assert report.page(again) == report.page(replace(held, environment=again.environment))
    assert report.heat_map(again) == report.heat_map(held)


def test_a_result_without_a_cells_run_of_the_first_rounds_ended_early(held: ClaimResult) -> None:
    whole = stored(held)
    last = [run for run in whole.runs if run.round == LOOKS[0] - 1]
    cell = last[-1].case_id.partition(": ")[0]
    left = tuple(
        run for run in whole.runs if not (run in last and run.case_id.startswith(f"{cell}: "))
    )
    assert len(left) < len(whole.runs)
    assert claim_of(msgspec.structs.replace(whole, runs=left)).is_early


def test_a_result_of_something_else_is_refused() -> None:
    with pytest.raises(UsageError, match="not one of the claim"):
        claim_of(RESULT)


def test_what_others_used_is_told(held: ClaimResult) -> None:
    beside = [
        changed(run, warnings=("other_measurement",)) if run.round == 1 else run
        for run in held.runs
    ]
    told = report.opening(replace(result_of(beside), others=Others(0.071, 0.002)))
    assert f"In {100 / LOOKS[0]:.1f} % of the runs another measurement used the same cores" in told
    assert "other programs had 7.1 % of the cores' time, and other machines" in told
    assert "took 0.2 %" in told


def test_the_worst_regret_is_told_with_the_worst_that_is_shown(lost: ClaimResult) -> None:
    (found,) = (goal.found for goal in goals_of(lost) if goal.text.startswith("worst regret"))
    worst = {each.strategy: each for each in lost.judged.worst if each.runtime is None}[OURS]
    assert worst.regret == worst.beyond
    assert f"{round(100 * (worst.beyond or 0)):,} % where the whole interval is beyond 5 %" in found


@pytest.mark.usefixtures("small_grid")
def test_the_answer_comes_first(held: ClaimResult, lost: ClaimResult) -> None:
    assert report.opening(held).startswith("**The claim holds**, over all 3 cells")
    assert (
        "4 of 4 goals met. Of 3 cells `adaptive` held 3 (0 of them by counts, not by the clock), "
        "lost 0 (0 by counts), and 0 are undecided"
    ) in report.opening(held)
    assert report.opening(lost).startswith("**The claim does not hold**, over all 3 cells")
    assert (
        "lost 3 (0 by counts), and 0 are undecided, with a margin of 5 %; in 3 it is worse by more"
        in (report.opening(lost))
    )
    assert "does best with nagle, which costs over 5 % more than the best one in 0 of 3 cells" in (
        report.opening(lost)
    )
    assert report.page(lost).index(report.opening(lost)) < report.page(lost).index("##")


def test_a_part_of_the_grid_never_holds_the_claim(held: ClaimResult) -> None:
    assert not is_whole(held)
    assert not report.holds(held)
    whole = len(GRIDS["full"](SETS["tuning"]))
    assert f"3 of the {whole} cells were measured" in report.opening(held)
    assert "The claim holds" not in report.page(held)


@pytest.mark.usefixtures("small_grid")
def test_a_whole_grid_that_reaches_every_goal_holds_it(
    held: ClaimResult, lost: ClaimResult
) -> None:
    assert report.holds(held)
    assert not report.holds(lost)
    assert not report.holds(replace(held, is_early=True))
    assert not report.holds(result_of([run for run in held.runs if run.run.cell != 1]))


def test_the_worst_regret_of_ours_must_be_a_tenth_of_the_best_single_ones(
    held: ClaimResult,
) -> None:
    dear = result_of(each_best_once(250_000.0))
    for result, is_met in ((held, True), (dear, False)):
        goals = {goal.text.partition(":")[0]: goal.is_met for goal in goals_of(result)}
        assert goals["worst regret"] is is_met


def test_what_is_lost_is_listed_with_its_winner_and_why(lost: ClaimResult) -> None:
    page = report.page(lost, by_hand="It is slow.\n")
    section = page.partition("## What is lost")[2].partition("\n## ")[0]
    assert "It is slow." in section
    assert "adaptive makes fewer writes, and its decisions cost more than they save" in section
    assert "adaptive holds longer" in section
    rows = [line for line in section.splitlines() if "| nagle |" in line]
    assert len(rows) == 3
    assert all("0.5 writes a message against 1" in row for row in rows)
    # In this world the winner pays nowhere.
    assert all(row.endswith("| nothing shown |") for row in rows)


def test_every_cell_is_on_the_page(held: ClaimResult) -> None:
    section = report.page(held).partition("## Every cell")[2].partition("\n## ")[0]
    for cell in CELLS:
        assert f"| {cell.load}, {cell.message_bytes} B |" in section
    assert "### loop" in section
    assert "### threads" in section


def test_goals_that_nothing_was_measured_for_are_not_met() -> None:
    nothing = result_of([])
    assert not report.holds(nothing)
    assert not any(goal.is_met for goal in goals_of(nothing))
    assert "This shows nothing of the claim: 0 of" in report.opening(nothing)
    assert report.page(nothing)


@pytest.mark.usefixtures("small_grid")
def test_the_bench_reports_the_answer_that_the_study_gave(
    held: ClaimResult, lost: ClaimResult
) -> None:
    for claim, found in ((held, "holds"), (lost, "does not hold")):
        answer = report.sentences(claim)
        assert answer_of(msgspec.structs.replace(stored(claim), answer=answer)) == answer
        assert answer[0] == f"The claim {found}, over all {len(CELLS)} cells: set tuning."
        count = count_of(claim)
        assert answer[1].startswith(
            f"Of {len(CELLS)} cells adaptive held {count.held}, lost {count.lost}, and "
        )


def test_without_the_study_s_answer_the_bench_says_what_the_result_is(held: ClaimResult) -> None:
    result = stored(held)
    failed = msgspec.structs.replace(result.runs[0], failure="it broke")
    result = msgspec.structs.replace(result, answer=(), runs=(failed, *result.runs[1:]))
    whose, what = answer_of(result)
    assert "The study claim compares its cases by rules of its own" in whose
    assert "python -m claim --report FILE" in whose
    assert what == (
        f"The result has {len(held.runs):,} runs of {len(held.cases)} cases in {LOOKS[0]} rounds, "
        "of which 1 failed."
    )


def test_an_interrupted_measurement_says_so(held: ClaimResult) -> None:
    early = replace(held, is_early=True)
    assert "ended early" in report.opening(early)


def test_warnings_failures_doubts_and_other_judges_are_on_the_page(held: ClaimResult) -> None:
    assert "## Warnings" not in report.page(held)
    runs = [changed(run, warnings=("retransmits",)) for run in late(list(held.runs), OURS)]
    runs[0] = Measured(PlannedRun(0, "nodelay"), 1, "it broke")
    result = result_of(runs)
    page = report.page(result)
    assert f"- `retransmits`: {len(runs) - 1:,} runs" in page
    assert f"- failed: {LOOP.name}, nodelay, round 1: it broke" in page
    assert "cannot keep up" in page.partition("## Held, lost")[2].partition("\n## ")[0]
    assert "Judged by other code" not in report.page(held)
    assert "Judged by other code" in report.page(replace(held, judged_by="another"))


def test_the_picture_has_a_square_for_every_strategy_of_every_cell(lost: ClaimResult) -> None:
    picture = ElementTree.fromstring(report.heat_map(lost))
    space = "{http://www.w3.org/2000/svg}"
    titles = [title.text or "" for title in picture.iter(f"{space}title")]
    assert len(titles) == 3 * len(LOOP.strategies)
    ours = [title for title in titles if title.startswith(OURS)]
    assert all(title.endswith(" %") and "+" in title for title in ours)
    texts = {text.text for text in picture.iter(f"{space}text")}
    assert {"loop", "threads", OURS, "10k/s poisson × 1, 100 B"} <= texts
    style = picture.findtext(f"{space}style")
    assert style is not None
    assert "prefers-color-scheme:dark" in style


def test_the_summary_tells_what_clock_and_counts_decide_apart(
    lost: ClaimResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GRIDS, "full", lambda _: list(CELLS))
    said = summary(lost)
    assert said.startswith("**It does not hold** (grid *full*, set *tuning*, 2026-01-01): ")
    rows = [line.split(" | ")[:7] for line in said.splitlines() if line.startswith("| ")]
    assert rows[1:] == [
        ["| loop", "2", "0", "0", "2", "0", "0 (0 %)"],
        ["| threads", "1", "0", "0", "1", "0", "0 (0 %)"],
        ["| all", "3", "0", "0", "3", "0", "0 (0 %)"],
    ]
    for goal in goals_of(lost):
        assert f"- {goal.text}: {goal.found}; **" in said
    assert "nagle, the best of the fixed ones, in 0 and 0" in said


def test_only_what_docs_claim_has_a_part_for_fills_it(lost: ClaimResult) -> None:
    assert list(parts(lost)) == []
    confirmed = replace(lost, set=SETS["confirm"])
    assert list(parts(confirmed)) == [("confirmed", summary(confirmed))]


def test_a_part_of_the_grid_sums_up_as_a_part(held: ClaimResult) -> None:
    assert "It is not shown either way: a part was measured" in summary(held)
