"""What sums up stored pages has their figures, and a page of another form is refused."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from published import budget, claim, simulation, summaries
from published.simulation import Cost
from published.stored import ROOT, Asked, Cell, Figure, Row, Table

SIMULATED = """# Strategies

## {heading}

Paced: {cells} cells, 0 of them decided by the time of a message.

| strategy | worst | mean | above 1.05 | above 1.10 | worst cell |
|---|--:|--:|--:|--:|---|
| tick | 2.00 | 1.500 | 9 | {above} | Plain 1k/s poisson × 1 |
| adaptive | {worst} | {mean} | 5 | {above} | Foreign 50k/s constant × 1 (slow program) |

| host | worst of `adaptive` | mean | above 1.10 |
|---|--:|--:|--:|
| {host} | {worst} | {mean} | 0 of 10 |
"""


def simulated(cells: int, worst: str, mean: str, above: int, host: str) -> simulation.Cells:
    page = SIMULATED.format(
        heading="Loops", cells=cells, worst=worst, mean=mean, above=above, host=host
    )
    return simulation.found_in(page)["Loops", "Paced"]


def test_the_cells_of_two_pages_of_the_simulation_are_one_table() -> None:
    one = simulated(100, "1.17", "1.010", 3, "slow")
    other = simulated(300, "1.25", "1.050", 4, "dear")
    both = one.with_those_of(other)
    assert (both.number, both.hosts) == (400, frozenset({"slow", "dear"}))
    ours = both.costs["adaptive"]
    assert (ours.worst, ours.mean) == pytest.approx((25, 4))
    assert ours.cells_above_10 == 7


def test_a_page_without_the_cost_of_adaptive_is_refused() -> None:
    page = SIMULATED.format(heading="Loops", cells=1, worst="1.1", mean="1.0", above=0, host="slow")
    for gone in ("| adaptive |", "Paced: ", "| slow |"):
        with pytest.raises(SystemExit, match="has not what strategies cost"):
            simulation.found_in(page.replace(gone, "| other"))


def test_each_heading_of_the_stored_pages_has_its_cells_in_the_table() -> None:
    table = simulation.table()
    for page in ("simulation.md", "simulation-confirm.md"):
        stored = (ROOT / "results/published" / page).read_text()
        for heading in re.findall(r"^## ((?!Costs at).+)$", stored, re.M):
            assert f"| {heading}, paced |" in table
            assert f"| {heading}, flat out |" in table


@pytest.mark.parametrize("page", ["claim-confirm.md", "claim-links.md"])
def test_a_page_of_the_claim_whose_sums_differ_from_its_tables_is_refused(
    page: str, tmp_path: Path
) -> None:
    text = (ROOT / "results/published" / page).read_text()
    found = claim.found_in(ROOT / "results/published" / page)
    other = tmp_path / page
    other.write_text(text.replace(f"`adaptive` held {found.held} ", "`adaptive` held 1 "))
    with pytest.raises(SystemExit, match="tells other sums than its tables have"):
        claim.found_in(other)
    other.write_text(text.replace("| **adaptive** |", "| adaptive |"))
    with pytest.raises(SystemExit, match="tells nothing like"):
        claim.found_in(other)


def test_the_page_of_the_claim_has_the_counts_of_its_stored_page_by_runtime() -> None:
    """`answer`, `confirmed` and `links` there are the study's, and no row of them is made here."""
    here, over_links = claim.loopback(), claim.links()
    page = " ".join((ROOT / "docs/claim.md").read_text().split())
    for name, it in here.runtimes.items():
        row = re.search(rf"\| {name} ((?:\| \d+ )+)\([\d.]+ %\) \| ([\d,.]+) % \|", page)
        assert row is not None
        cells, held, by_counts, lost, lost_by_counts, undecided = map(
            int, re.findall(r"\d+", row[1])
        )
        counts = (cells, held + by_counts, lost + lost_by_counts, undecided)
        assert counts == (it.cells, it.held, it.lost, it.undecided)
        assert float(row[2].replace(",", "")) == it.regret
    for found in (here, over_links):
        assert f"{found.undecided} of {found.cells} (" in page
        assert f"over 5 % worse in {found.own_worse} cells" in page


def test_rows_whose_base_loop_stalls_are_in_no_range() -> None:
    rows = [
        Row("uvicorn: in chunks", {"ratio": Figure(1.7)}),
        Row("uvicorn `--workers 2`: in chunks", {"ratio": Figure(379)}),
        Row("hypercorn: in chunks", {"ratio": Figure(1.5)}),
    ]
    assert summaries.ratios(rows, "uvicorn", "in chunks") == [1.7]


def test_a_span_of_equal_numbers_is_one_number() -> None:
    assert summaries.span([3.733, 3.74]) == "3.7"
    assert summaries.span([1.34, 1.2, 1.25]) == "1.2 to 1.3"


def test_shares_are_as_fine_as_they_are_small() -> None:
    assert summaries.mean_and_worst(Cost(0.14, 17.4, 3)) == "0.1 and 17 %"
    assert summaries.mean_and_worst(Cost(287.4, 1_817, 3)) == "287 and 1,817 %"


def test_what_is_beyond_the_native_limit_is_told_in_time() -> None:
    medians: list[Cell] = [[8e6, 20e6], [5e6, 20e6], [4e6, 20e6]]
    ways = ("combine", "coalesce:10us", "adaptive")
    rows = [
        Row(f"8 producers flat out: {way} ÷ native limit", {"medians": both}, Asked(0.5))
        for way, both in zip(ways, medians, strict=True)
    ]
    call = Row("CoalescingSocket: sock.send(m)", {"ns": Figure(28.6, 28.2, 30.0)})
    tables = {
        "threads": Table("bench", "Linux", date(2026, 11, 27), "row", [], rows),
        "send-calls": Table("bench", "Linux", date(2026, 11, 29), "row", [], [call]),
    }
    told = budget.beyond(tables, "8 producers", "")
    assert told.row == "8 producers, a message at a time"
    of_ways = {"combine": 75, "coalesce:10us": 150, "adaptive": 200}
    assert told.figures == pytest.approx(of_ways | {"limit": 50, "asked": 50, "call": 28.6})
