"""Which cells are named on the command line, and what is no cell, no page and no slice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from claim.__main__ import main
from claim.asked import cells_of, parser
from claim.grid import SETS, full_grid

from tinygram_bench.model.errors import UsageError

ROOT = Path(__file__).parents[2]
CONFIRMED = ROOT / "results/published/claim-confirm.md"
LOST = ("--lost-in", str(CONFIRMED))


def names(*options: str) -> list[str]:
    return [cell.name for cell in cells_of(parser(None).parse_args(options))]


def lost_on_the_page() -> set[str]:
    """The first column of the table of lost cells, which is the only one with six on the left."""
    section = CONFIRMED.read_text().partition("## What is lost")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| (\w+, .+? B) \|", section, re.M))


def test_the_lost_cells_of_a_page_are_those_of_its_table() -> None:
    named = names("--set", "slices", *LOST)
    assert len(named) > 10
    assert set(named) == lost_on_the_page()
    # In the order of the grid.
    assert named == [cell.name for cell in full_grid(SETS["slices"]) if cell.name in named]


def test_the_lost_cells_are_narrowed_by_the_other_options() -> None:
    named = names("--set", "confirm", *LOST, "--runtime", "threads", "--only", "× 4")
    assert named
    assert set(named) == {
        name for name in lost_on_the_page() if name.startswith("threads") and "× 4" in name
    }


def test_lost_cells_of_other_sizes_or_another_grid_are_refused() -> None:
    for others in (("--set", "tuning"), ("--set", "slices", "--grid", "links")):
        with pytest.raises(UsageError, match=r"--lost-in: grid .* has no cell '\w+, .* B'"):
            names(*others, *LOST)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--only", "nowhere"), "grid 'full' of set 'slices' has no cell for --only 'nowhere'"),
        (
            ("--runtime", "loop", "--runtime", "asyncio", "--only", "8 producers"),
            "has no cell for --runtime loop or asyncio with --only '8 producers'",
        ),
        (
            (*LOST, "--runtime", "loop", "--only", "1k/s"),
            "has no cell for --lost-in with --runtime loop with --only '1k/s'",
        ),
        (("--grid", "quick", "--runtime", "uvloop", "--only", "1k/s"), "grid 'quick' of set"),
    ],
)
def test_where_no_cell_is_left_each_option_that_chose_is_named(
    options: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        names("--set", "slices", *options)


def test_slices_that_are_no_longer_than_the_grids_are_refused() -> None:
    for slice_ms in ("1", "5"):
        with pytest.raises(UsageError, match=f"--slice-ms {slice_ms}: no slice is shorter"):
            names("--only", "50k/s", "--slice-ms", slice_ms)
    # One cell has longer ones.
    assert names("--slice-ms", "6") == names()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--slice-ms", "0"), "argument --slice-ms: 0 is no whole number from 1 to 1,000"),
        (("--slice-ms", "-5"), "argument --slice-ms"),
        (("--slice-ms", "2.5"), "argument --slice-ms: 2.5 is no whole number"),
        (("--slice-ms", "200ms"), "argument --slice-ms: 200ms is no whole number"),
        (("--slice-ms", "1001"), "argument --slice-ms: 1001 is no whole number from 1 to 1,000"),
        (("--lost-in", "nowhere.md"), "argument --lost-in: [Errno 2] No such file"),
        (("--lost-in", str(ROOT / "README.md")), "README.md tells nothing like"),
        (
            ("--lost-in", str(ROOT / "results/published/claim-links.md")),
            "argument --lost-in: no cell is lost on",
        ),
    ],
)
def test_what_is_no_slice_and_no_page_with_lost_cells_is_refused(
    options: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["claim", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
