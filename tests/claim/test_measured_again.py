"""What was measured before, and the claim's lost cells that are measured again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from claim.code import code
from claim.grid import GRIDS, SETS
from claim.judging.compare import LOOKS
from claim.page import report
from claim.page.longer import in_longer_slices
from claim.page.summary import parts
from claim.result import About, ClaimResult, earlier_of, is_whole
from published.claim import Lost
from tests.claim.worlds import CELLS, COSTS, each_best_once, result_of, runs_of
from tests.support.small_result import RESULT

from tinygram_bench.model import store


@pytest.fixture(scope="module")
def held() -> ClaimResult:
    return result_of(each_best_once(100_000.0))


@pytest.fixture(scope="module")
def lost() -> ClaimResult:
    return result_of(runs_of(CELLS, {**COSTS, "nagle": 40_000.0}))


def test_earlier_results_of_the_set_are_found_and_named(held: ClaimResult, tmp_path: Path) -> None:
    about = About("claim", "full", SETS["tuning"], code())
    kept = msgspec.structs.replace(
        RESULT,
        environment={"study": msgspec.to_builtins(about)},
        started_at="2026-01-01T00:00:00Z",
    )
    store.save(kept, tmp_path / "one.json")
    (tmp_path / "other.json").write_text("{}")
    (said,) = earlier_of(SETS["tuning"], tmp_path)
    assert said.startswith(f"{kept.started_at}, grid full, sources ")
    assert earlier_of(SETS["confirm"], tmp_path) == ()
    assert earlier_of(SETS["tuning"], tmp_path / "nowhere") == ()
    assert said in report.page(replace(held, earlier=(said,)))


def test_longer_slices_show_nothing_of_the_claim_and_fill_a_part_of_their_own(
    held: ClaimResult, lost: ClaimResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GRIDS, "full", lambda _: list(CELLS))
    confirmed = replace(held, set=SETS["confirm"])
    assert is_whole(confirmed)
    longer = replace(confirmed, slice_ms=200)
    assert not is_whole(longer)
    assert "(grid *full*), in slices of 200 ms or longer, not the grid's." in report.opening(longer)
    assert list(parts(longer)) == []
    assert list(parts(replace(held, set=SETS["slices"]))) == []
    ((part, _),) = parts(replace(lost, set=SETS["slices"], slice_ms=200))
    assert part == "slices"


def test_lost_cells_are_told_beside_what_they_are_in_longer_slices(
    held: ClaimResult, lost: ClaimResult
) -> None:
    cells = [Lost(CELLS[2].name, "1.40 (1.34–1.44)", "nagle"), Lost("not here", "1.1", "combine")]
    for result, rival, outcome, counts in (
        (replace(held, slice_ms=200), "nagle", "held", "held 1, lost 0, and 0 are undecided"),
        (replace(lost, slice_ms=200), "nagle", "**lost**", "held 0, lost 1, and 0 are undecided"),
    ):
        said, _, rows = in_longer_slices(result, cells).partition("\n\n")
        assert "Of the 2 cells that are lost in the claim, 1 of them to `nagle`, 1 were" in said
        assert counts in said
        (row,) = [line for line in rows.splitlines() if line.startswith("| threads")]
        found = row.strip("| ").split(" | ")
        assert found[:4] == [CELLS[2].name, "nagle", "1.40 (1.34–1.44)", rival]
        assert found[5] == outcome
        assert found[7] == str(LOOKS[0])
