"""What was measured, in the place that a page of docs/ has for it."""

from __future__ import annotations

from pathlib import Path


def fill(page: Path, part: str, text: str) -> None:
    """Put the text between the page's marks `<!-- PART -->` and `<!-- end of PART -->`.

    Exits where the page has them not.
    """
    page.write_text(filled(page.read_text(), part, text, page))


def filled(content: str, part: str, text: str, page: Path) -> str:
    """The page's content with the text between these marks; `page` is named where they miss."""
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    before, begins, rest = content.partition(begin)
    _, ends, after = rest.partition(end)
    if not begins or not ends:
        raise SystemExit(f"{page} has not both marks, {begin} and {end}")
    return f"{before}{begin}\n{text}\n{end}{after}"
