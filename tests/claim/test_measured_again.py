"""What was measured before, and the claim's lost cells that are measured again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from claim.__main__ import main
from claim.code import code
from claim.grid import GRIDS, SETS
from claim.judging.compare import LOOKS
from claim.page import report
from claim.page.longer import measured_again
from claim.page.summary import PARTS, parts
from claim.result import About, ClaimResult, earlier_of, is_whole
from published.claim import Lost
from published.pages import fill
from published.stored import ROOT
from tests.claim.worlds import CELLS
from tests.support.small_result import RESULT

from tinygram_bench.model import store

ELSEWHERE = Lost("threads, 10k/s constant × 4, 100 B", "1.10 (1.07–1.13)", "combine")
"""A cell that the results here have not, and how it is told."""
ELSEWHERE_IS = (ELSEWHERE.cell, ELSEWHERE.winner, ELSEWHERE.ratio)
UVLOOP = Lost("uvloop, flat out × 1, 100 B", "1.10 (1.07–1.13)", "nagle")
"""One of a runtime that they have not."""


def keep(folder: Path, *studies: About) -> None:
    """Results of these studies, begun on one day after the other."""
    for day, about in enumerate(studies, start=1):
        result = msgspec.structs.replace(
            RESULT,
            environment={"study": msgspec.to_builtins(about)},
            started_at=f"2026-01-{day:02}T00:00:00Z",
        )
        store.save(result, folder / f"{day}.json")


def test_earlier_results_of_the_set_are_found_and_named(held: ClaimResult, tmp_path: Path) -> None:
    tuning, confirm = SETS["tuning"], SETS["confirm"]
    keep(tmp_path, About("claim", "full", tuning, code()))
    (tmp_path / "other.json").write_text("{}")
    (said,) = earlier_of(tuning, "full", None, tmp_path)
    assert said.startswith("2026-01-01T00:00:00Z, grid full, sources ")
    assert earlier_of(confirm, "full", None, tmp_path) == ()
    assert earlier_of(tuning, "full", None, tmp_path / "nowhere") == ()
    assert said in report.page(replace(held, earlier=(said,)))


def test_earlier_are_results_of_the_same_cells_in_the_same_slices(tmp_path: Path) -> None:
    sizes = SETS["slices"]
    keep(
        tmp_path,
        About("claim", "full", sizes, code()),
        About("claim", "full", sizes, code(), slice_ms=200),
        About("claim", "links", sizes, code()),
        About("claim", "unknown", sizes, code()),
    )

    def days(grid: str, slice_ms: int | None = None) -> list[str]:
        return [each[8:10] for each in earlier_of(sizes, grid, slice_ms, tmp_path)]

    assert days("full") == ["01"]
    # Its cells are among those of the full grid.
    assert days("quick") == ["01"]
    assert days("links") == ["03"]
    assert days("full", 200) == ["02"]
    assert days("full", 100) == days("links", 200) == []
    assert ", grid full, slices of 200 ms, sources " in earlier_of(sizes, "full", 200, tmp_path)[0]


@pytest.mark.parametrize("name", ["confirm", "slices"])
def test_a_set_that_counts_once_is_refused_the_second_time(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tmp_path, About("claim", "full", SETS[name], code()))
    once_more = ("--set", name, "--grid", "quick", "--only", "loop, 10k/s", "--rounds", "1")
    monkeypatch.setattr("sys.argv", ["claim", *once_more, "--out", str(tmp_path / "again.json")])
    with pytest.raises(SystemExit, match=f"set '{name}' was measured before, and counts once"):
        main()
    assert not (tmp_path / "again.json").exists()


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
    ((part, said),) = parts(replace(lost, set=SETS["slices"], slice_ms=200))
    assert part == "slices"
    assert "were measured again in slices of 200 ms (set *slices*, " in said
    assert "| best fixed strategy in 200 ms |" in said


def test_the_same_cells_in_the_claims_own_slices_fill_the_part_of_the_control(
    lost: ClaimResult,
) -> None:
    ((part, said),) = parts(replace(lost, set=SETS["slices"]))
    assert part == "slices-control"
    assert "were measured again in the claim's own slices (set *slices*, " in said
    assert "| best fixed strategy again |" in said
    assert "None" not in said


def test_each_part_that_a_result_fills_has_its_marks_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "claim.md"
    page.write_text((ROOT / "docs/claim.md").read_text())
    for part in (*PARTS.values(), "answer"):
        fill(page, part, f"what fills {part}")
        assert page.read_text().count(f"what fills {part}\n") == 1


def test_lost_cells_are_told_beside_what_they_are_measured_again(
    held: ClaimResult, lost: ClaimResult
) -> None:
    cells = [Lost(CELLS[2].name, "1.40 (1.34–1.44)", "nagle"), ELSEWHERE, UVLOOP]
    for result, rival, outcome, counts in (
        (replace(held, slice_ms=200), "nagle", "held", "held 1, lost 0, and 0 are undecided"),
        (replace(lost, slice_ms=200), "nagle", "**lost**", "held 0, lost 1, and 0 are undecided"),
    ):
        said, _, rows = measured_again(result, cells).partition("\n\n")
        assert said.startswith(
            "Of the 2 cells of loop and threads that are lost in the claim, 1 of them to `nagle`, "
            "1 were measured again in slices of 200 ms "
        )
        assert counts in said
        found, missing = [line.strip("| ").split(" | ") for line in rows.splitlines()[2:]]
        assert missing == [*ELSEWHERE_IS, "–", "–", "not measured", "–", "–"]
        assert found[:4] == [CELLS[2].name, "nagle", "1.40 (1.34–1.44)", rival]
        assert found[5] == outcome
        assert found[7] == str(LOOKS[0])


def test_the_code_the_host_and_what_was_measured_before_are_told(held: ClaimResult) -> None:
    host = {"cpu_model": "AMD EPYC", "cores": 2, "kernel": "6.18", "cpu_governor": None}
    commit = "307af442f3b2cf7230782395f1bd8a5689cbec73"
    clean = msgspec.structs.replace(held.code, commit=commit, is_changed=False)
    known = replace(held, set=SETS["slices"], slice_ms=200, environment=host, code=clean)
    told = "(set *slices*, 2026-01-01, commit 307af442, AMD EPYC, 2 cores, Linux 6.18): "
    assert told in measured_again(known, [ELSEWHERE])
    assert "before" not in measured_again(known, [ELSEWHERE])
    changed = replace(known, code=msgspec.structs.replace(clean, is_changed=True), is_early=True)
    said = measured_again(changed, [ELSEWHERE])
    assert "commit 307af442 with changes, " in said
    assert "Linux 6.18, and the measurement ended early): " in said
    unknown = replace(known, code=msgspec.structs.replace(clean, commit=None), environment={})
    assert "(set *slices*, 2026-01-01): " in measured_again(unknown, [ELSEWHERE])
    again = measured_again(replace(known, earlier=("one day", "another")), [ELSEWHERE])
    assert "Set *slices* was measured before: one day; another." in again
