"""Figures of the documentation come from what is stored in results/published: none is typed."""

from __future__ import annotations

import re
import sys
from datetime import date
from math import ceil
from pathlib import Path

import pytest
from msgspec.structs import replace

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "benches"))

from published.__main__ import PAGES, charts, page_of, pages  # noqa: E402
from published.claim import links, loopback  # noqa: E402
from published.prose import sections  # noqa: E402
from published.stored import (  # noqa: E402
    ROWS,
    SENTENCES,
    Asked,
    Column,
    Figure,
    Row,
    Stored,
    Table,
    put,
    read,
)
from published.tables import lines_of, markdown, number  # noqa: E402
from published_claims.__main__ import CLAIMS, COMMANDS  # noqa: E402

PAGE = Path("page.md")
LOOPS = ("loop", "asyncio", "uvloop")
STALL = 100
"""Above it are rows whose base loop waits for delayed ACKs; README does not count them."""
CELLS = Column("ratio", "ratio", 2)


def table(*rows: Row, columns: tuple[Column, ...] = (CELLS,)) -> Table:
    return Table("bench", "Linux", date(2026, 11, 24), "row", [*columns], [*rows])


def test_each_page_is_what_its_stored_rows_make() -> None:
    stale = [page for page, made in pages() if made != (ROOT / page).read_text()]
    assert stale == [], "run `make figures`"


def test_each_chart_is_what_its_stored_result_draws_and_a_page_shows_it() -> None:
    shown = "".join(page.read_text() for page in (ROOT / "README.md", *DOCS.rglob("*.md")))
    drawn = dict(charts())
    assert drawn == dict(charts())
    files = (DOCS / "figures").glob("*/*")
    kept = {str(path.relative_to(ROOT)): path.read_text() for path in files}
    assert drawn == kept, "run `make figures`"
    for path in drawn:
        assert f"{path.removeprefix('docs/')})" in shown


def test_the_page_of_claims_names_each_command_and_each_section_that_is_measured() -> None:
    page = (ROOT / PAGES["claims"]).read_text()
    found = re.findall(r"^\| \*(.+)\* \| `(.+)` \|$", page, re.M)
    named = dict(found)
    assert len(named) == len(found)
    assert {each.command for claim in CLAIMS.values() for each in claim} == set(COMMANDS)
    assert {name: f"tinygram {words}" for name, words in COMMANDS.items()}.items() <= named.items()
    assert set(CLAIMS) <= {heading for heading, _ in sections(page)}


def test_every_file_of_rows_has_a_page() -> None:
    assert {path.stem for path in ROWS.glob("*.json")} == set(PAGES)


def test_a_table_that_was_copied_names_the_page_and_the_commit_that_have_it() -> None:
    copied = replace(table(Row("a", {})), taken_from="docs/speed.md at 49a85ef5")
    *_, origin = markdown(copied).splitlines()
    assert origin == (
        "Measured on 24 November 2026: Linux. Copied from docs/speed.md as it was at commit "
        "49a85ef5."
    )


def test_the_page_of_which_each_copied_table_is_a_copy_is_the_one_that_shows_it() -> None:
    for path in ROWS.glob("*.json"):
        for each in read(path).tables.values():
            if each.taken_from is not None:
                assert re.fullmatch(rf"{PAGES[path.stem]} at [0-9a-f]{{7,}}", each.taken_from)


def test_a_table_that_was_typed_over_is_found() -> None:
    stored = Stored(1, {"speed": table(Row("a", {"ratio": Figure(1.92, 1.88, 1.98)}))})
    page = page_of("# A\n<!-- speed -->\n<!-- end of speed -->\n", stored, PAGE)
    assert "| a | 1.92 (1.88–1.98) |" in page
    assert page_of(page.replace("1.92", "1.29"), stored, PAGE) == page
    with pytest.raises(SystemExit, match=r"page.md has not both marks"):
        page_of("# A\n", stored, PAGE)


def test_figures_of_sentences_are_those_stored_with_the_decimals_of_the_page() -> None:
    told = Row("b ÷ a", {"section": "N1. A claim", "told": Figure(1.9249, 1.881, 1.98)})
    stored = Stored(1, {SENTENCES: table(told, columns=())})
    page = "# N1. A claim — upheld\nIt is 1.92\n(1.88–1.98) of µs.\n"
    assert page_of(page, stored, PAGE) == page
    assert page_of(page.replace("1.92", "1.29"), stored, PAGE) == page
    with pytest.raises(SystemExit, match=r"2 figures with intervals.* and 1 are stored"):
        page_of(page + "And 3 (2–4).", stored, PAGE)
    with pytest.raises(SystemExit, match=r"0 figures with intervals.* and 1 are stored"):
        page_of("# N1. A claim\nNone.\n", stored, PAGE)


def test_what_cells_say() -> None:
    columns = (CELLS, Column("ns", "ns", 0), Column("before", "before", 3, ", "))
    rows = [
        Row("a", {"ratio": 2.5, "ns": [85.4, 1925.0]}, Asked(at_least=2), True),
        Row("b", {"ratio": Figure(764, 762, 765, "bytes", 0)}, Asked(at_most=1_000), None),
        Row("c", {"ratio": Figure(3, is_shown=True), "before": [0.83, "CPU 1.2"]}),
        Row("d", {"ratio": Figure(3, is_doubtful=True)}, Asked(0.9, 1.1), False),
    ]
    assert lines_of("row", columns, rows).splitlines() == [
        "| row | ratio | asked | reached | ns | before |",
        "|---|--:|--:|---|--:|--:|",
        "| a | 2.50 | 2 | yes | 85 and 1,925 |  |",
        "| b | 764 bytes (762–765) | at most 1,000 | cannot be said |  |  |",
        "| c | **3.00** |  |  |  | 0.830, CPU 1.2 |",
        "| d | 3.00? | 0.9 to 1.1 | no |  |  |",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(12_503_210.0, "12,500,000"), (17.24, "17.24"), (0.0141, "0.0141"), (57.0, "57"), (0, "0")],
)
def test_a_number_has_four_significant_digits(value: float, shown: str) -> None:
    assert number(value, None) == shown


def test_rows_that_a_bench_stores_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "speed.json"
    first, second = table(Row("a", {"ratio": 1.0})), table(Row("b", {"ratio": [1.0, "x"]}))
    put(path, "one", first)
    put(path, "two", first)
    put(path, "two", second)
    assert read(path).tables == {"one": first, "two": second}
    path.write_text('{"schema": 2, "tables": {}}')
    with pytest.raises(SystemExit, match="has schema 2; this code reads 1"):
        read(path)


def told(page: str) -> str:
    return " ".join((ROOT / page).read_text().split())


def test_what_is_said_of_the_claim_is_what_its_pages_found() -> None:
    here, over_links = loopback(), links()
    readme = told("README.md")
    row = f"({here.cells}) | {here.held} held, {here.lost} lost, "
    assert row in readme
    assert f" {here.undecided} undecided; largest regret {here.regret} % " in readme
    assert f"of the best single strategy {here.single_regret} % |" in readme
    assert f"links ({over_links.cells}), " in readme
    lost = over_links.lost or "none"
    assert f"| {over_links.held} held, {lost} lost, {over_links.undecided} undecided |" in readme
    page = told("docs/claim.md")
    decided, _ = by_runtime()
    loops = [sum(numbers) for numbers in zip(*(decided[name] for name in LOOPS), strict=True)]
    for numbers in (loops, decided["threads"]):
        cells, held, held_by_counts, lost, lost_by_counts, undecided = numbers
        assert f"({cells}) | {held + held_by_counts} held, {lost + lost_by_counts} lost" in readme
        assert f" {undecided} undecided |" in readme
    for found in (here, over_links):
        assert f"{found.undecided} of {found.cells} (" in page
        assert f"over 5 % worse in {found.own_worse} cells" in page
    network = told("docs/how-to/measure-over-a-network.md")
    assert f"Over {over_links.cells} loads on links" in network
    assert f"{over_links.held} it holds, and {over_links.undecided} are undecided" in network


def by_runtime() -> tuple[dict[str, list[int]], dict[str, float]]:
    """The counts of docs/claim.md's table by runtime, and its last column, the largest regrets."""
    rows = re.findall(
        r"^\| (\w+) (\| \d+ \| .*) \([\d.]+ %\) \| ([\d,.]+) % \|$",
        (ROOT / "docs/claim.md").read_text(),
        re.M,
    )
    counts = {name: [int(each) for each in re.findall(r"\d+", text)] for name, text, _ in rows}
    return counts, {name: float(regret.replace(",", "")) for name, _, regret in rows}


def test_what_is_said_of_loops_and_of_threads_is_what_the_table_by_runtime_has() -> None:
    counts, regrets = by_runtime()
    of_loops = max(regrets[name] for name in LOOPS)
    cells = sum(counts[name][0] for name in LOOPS)
    readme = told("README.md")
    assert f"In {cells} loads on loops, measured over loopback on one host, it is at most" in readme
    assert f" at most {ceil(of_loops)} % worse than the best fixed strategy" in readme
    assert f"in {counts['threads'][0]} with threads up to {ceil(regrets['threads'])} %" in readme
    assert f"(of loops {of_loops:g} %)" in readme


def test_what_is_said_of_lost_cells_is_what_the_list_of_them_has() -> None:
    confirmed = (ROOT / "results/published/claim-confirm.md").read_text()
    pattern = r"^\| (loop|asyncio|uvloop|threads), [^|]+ \| [\d.]+ \([^|]+ \| (\S+) \|"
    lost = re.findall(pattern, confirmed, re.M)
    to_nagle = lost.count(("threads", "nagle"))
    of_threads = sum(runtime == "threads" for runtime, _ in lost)
    assert len(lost) == loopback().lost
    assert f"{of_threads} lost ({to_nagle} to Nagle's algorithm)" in told("README.md")
    page = told("docs/claim.md")
    assert f"{to_nagle} of {of_threads} lost cells are lost to `nagle`" in page
    counts, regrets = by_runtime()
    cells = sum(counts[name][0] for name in LOOPS)
    assert f"{len(lost) - of_threads} of {cells} cells lost" in page
    choose = told("docs/how-to/choose-a-strategy.md")
    worse = re.search(r"^\| cells, threads \|.* (\d+) \(\d+\) \|$", confirmed, re.M)
    assert worse is not None
    assert f"all {cells} loads of the claim" in choose
    assert f"in {worse[1]} of {counts['threads'][0]}, by up to {regrets['threads']:g} %" in choose


@pytest.mark.parametrize("page", ["claim-confirm", "claim-links"])
def test_what_was_read_by_hand_is_on_the_page_of_the_claim(page: str) -> None:
    why = ROOT / f"results/published/{page}-why.md"
    assert why.read_text().strip() in why.with_name(f"{page}.md").read_text()


def test_what_programs_gain_is_what_their_table_says() -> None:
    rows = read(ROWS / "real-programs.json").tables["servers"].rows
    of_uvicorn = [(row.row, ratio_of(row)) for row in rows if row.row.startswith("uvicorn")]
    plain, chunks = (
        [ratio for what, ratio in of_uvicorn if text in what and ratio < STALL]
        for text in ("a plain response", "a response in 20 chunks")
    )
    assert (
        f"makes {min(plain):.1f} to {max(plain):.1f} times as many plain responses and "
        f"{min(chunks):.1f} to {max(chunks):.1f} times as many in 20 chunks"
    ) in told("README.md")


def ratio_of(row: Row) -> float:
    ratio = row.figures["ratio"]
    assert isinstance(ratio, Figure)
    return ratio.median
