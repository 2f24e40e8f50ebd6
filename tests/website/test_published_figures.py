"""Figures of the documentation come from what is stored in results/published: none is typed."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace
from published.__main__ import PAGES, charts, page_of, pages
from published.prose import TOLD, sections
from published.stored import (
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
from published.tables import lines_of, markdown, number
from published_claims.__main__ import CLAIMS, COMMANDS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = Path("page.md")
CELLS = Column("ratio", "ratio", 2)
NOT_MEASURED = {
    "README.md": set[str](),
    "docs/claim.md": {"5 %"},
    "docs/claims.md": {
        *("98.4 %", "95 %", "97.3 %", "1 M messages"),
        *("2 ×", "0.77 ×", "1.54 times", "3.3 times", "2.6 times", "3.4 times", "1.14 M/s"),
    },
    "docs/scale.md": set[str](),
    "docs/how-to/choose-a-strategy.md": set[str](),
    "docs/how-to/read-a-report.md": {"2 %", "11.5 times"},
}
"""Page → shares and ratios in its prose that are bounds, arithmetic, examples, or published by
others."""


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
    marks = "<!-- sentences -->\n<!-- end of sentences -->"
    section = "# N1. A claim — upheld\nIt is 1.92\n(1.88–1.98) of µs.\n"
    page = page_of(f"{section}{marks}\n", stored, PAGE)
    assert page.startswith(section)
    assert "Measured by `bench` on 24 November 2026: Linux." in page
    assert page_of(page.replace("1.92", "1.29"), stored, PAGE) == page
    with pytest.raises(SystemExit, match=r"2 figures with intervals.* and 1 are stored"):
        page_of(page + "And 3 (2–4).", stored, PAGE)
    with pytest.raises(SystemExit, match=r"0 figures with intervals.* and 1 are stored"):
        page_of(f"# N1. A claim\nNone.\n{marks}", stored, PAGE)


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


def prose(page: str) -> str:
    """The page without what is made of stored rows."""
    marked = r"<!-- ([\w-]+) -->.*?<!-- end of \1 -->"
    text = re.sub(marked, "", (ROOT / page).read_text(), flags=re.DOTALL)
    return TOLD.sub("", text) if page in PAGES.values() else text


@pytest.mark.parametrize("page", NOT_MEASURED)
def test_no_share_and_no_ratio_is_typed(page: str) -> None:
    typed = re.findall(r"\d[\d,.]*(?:\s%|\s×|\s+times|\sM(?:/s|\smessages)|\sk/s)", prose(page))
    assert {" ".join(each.split()) for each in typed} == NOT_MEASURED[page]


@pytest.mark.parametrize("page", ["claim-confirm", "claim-links"])
def test_what_was_read_by_hand_is_on_the_page_of_the_claim(page: str) -> None:
    why = ROOT / f"results/published/{page}-why.md"
    assert why.read_text().strip() in why.with_name(f"{page}.md").read_text()
