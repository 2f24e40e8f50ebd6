"""All that a report says is in each of its forms: the terminal's with notes, Markdown, the page."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import fields
from rich.console import Console
from tests.support.experiments import plan_of, result_of

from tinygram_bench.model.result import Named
from tinygram_bench.report import page
from tinygram_bench.report.document import Document, Note, Reason, Section, write
from tinygram_bench.report.exports import markdown
from tinygram_bench.report.surroundings import Surroundings
from tinygram_bench.report.table import Column, Pen, Row, Table

NOT_SHOWN = {"baseline_case_id", "case_id", "kind", "measured", "brief"}
"""Fields that are no text of a whole report: `brief` is instead of what it shows in full."""


def table(name: str) -> Table:
    columns = (Column(f"{name} way"), Column(f"{name} figure"))
    return Table(f"{name} title", columns, (Row((f"{name} a", f"{name} b")),), (f"{name} note",))


WHOLE = Document(
    answer=("first sentence", "second sentence", "third sentence"),
    sections=(
        Section("first section", (table("shown"),), (table("expert"),), ("first remark",)),
        Section(None, (table("untitled"),), (), ("second remark",)),
        Section("last section", (), (), ("third remark",)),
    ),
    notes=(
        Note("one case", "a", "one note"),
        Note("other case", "b", "other note", is_detail=True),
    ),
    measured=("measured",),
    surroundings=Surroundings("brief", ("one paragraph", "other paragraph"), ("odd thing",)),
    reasons=(Reason("a", "b", "one reason"), Reason("a", "c", "other reason", is_detail=True)),
)


def texts_in(value: Any) -> Iterator[str]:
    """Every text of a document but those that are not shown."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from texts_in(each)
    elif isinstance(value, Struct):
        for field in fields(value):
            if field.name not in NOT_SHOWN:
                yield from texts_in(getattr(value, field.name))


class Shown(HTMLParser):
    """The text of a page, its elements taken off."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = ""
        self.feed(text)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> Named:
    """A result whose report is the document above."""
    for module in (markdown, page):
        monkeypatch.setattr(module, "document_of", lambda *_, **__: WHOLE)
    return Named("name", result_of(plan_of([], []), []))


def on_a_terminal(_: Named) -> str:
    file = io.StringIO()
    write(Pen(Console(file=file, width=100)), WHOLE, with_notes=True)
    return file.getvalue()


def in_markdown(named: Named) -> str:
    return markdown.report_markdown([named])


def on_the_page(named: Named) -> str:
    return Shown(page.page_of([named], "1.2.3").html).text


def test_the_document_has_something_of_all() -> None:
    """A new field of a document has to be in the next test."""
    assert [field.name for field in fields(WHOLE) if not getattr(WHOLE, field.name)] == []
    section = WHOLE.sections[0]
    assert [field.name for field in fields(section) if not getattr(section, field.name)] == []


@pytest.mark.parametrize("form", [on_a_terminal, in_markdown, on_the_page])
def test_no_form_of_a_report_leaves_out_a_text(form: Callable[[Named], str], named: Named) -> None:
    shown = form(named)
    assert [text for text in texts_in(WHOLE) if text not in shown] == []
    first = [shown.index(text) for text in ("third sentence", "one reason", "shown title")]
    assert first == sorted(first)


def test_the_page_folds_reasons_for_pairs_that_the_answer_does_not_name(named: Named) -> None:
    text = page.page_of([named], "1.2.3").html
    section = text[text.index('id="r0-why"') :].partition("</section>")[0]
    shown, folded = section.split("<summary>1 more reason</summary>")
    assert "one reason" in shown
    assert "other reason" in folded
    assert 'href="#r0-why"' in text
