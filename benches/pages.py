"""What a script measured, in the place that a page of docs/ has for it."""

from __future__ import annotations

from pathlib import Path


def fill(page: Path, part: str, text: str) -> None:
    """Put the text between the page's marks `<!-- PART -->` and `<!-- end of PART -->`.

    Exits where the page has them not.
    """
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    before, begins, rest = page.read_text().partition(begin)
    _, ends, after = rest.partition(end)
    if not begins or not ends:
        raise SystemExit(f"{page} has not both marks, {begin} and {end}")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")
