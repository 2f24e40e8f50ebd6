"""Put stored rows, sums of stored pages, and charts into the documentation: `python -m published`.

With --check it only says what differs.

A table is between marks of its name. Tables called `sentences…` have the figures with intervals
that the page's sentences tell; between their marks is where these are from. The exit status of
--check is 1 where a page is not what is stored makes of it, or a chart not what its result draws.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from published.pages import filled
from published.prose import with_figures
from published.stored import ROOT, ROWS, SENTENCES, Figure, Stored, read
from published.summaries import SUMMARIES
from published.tables import markdown, origin
from tinygram_bench.model import store
from tinygram_bench.model.result import Named
from tinygram_bench.report.exports.pictures import pictures

RESULTS = ROOT / "results/published"
PAGES = {
    "speed": "docs/speed.md",
    "real-programs": "docs/real-programs.md",
    "claims": "docs/claims.md",
    "scale": "docs/scale.md",
    "resolution": "docs/resolution.md",
    "measure-tls": "docs/how-to/measure-tls.md",
    "measure-over-a-network": "docs/how-to/measure-over-a-network.md",
    "measure-requests-and-replies": "docs/how-to/measure-requests-and-replies.md",
    "find-waits-for-acknowledgements": "docs/how-to/find-waits-for-acknowledgements.md",
}
"""File of rows → the page that shows its tables."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="published", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    stale = []
    for told, made in (*pages(), *charts()):
        path = ROOT / told
        if not path.exists() or made != path.read_text():
            stale.append(told)
            if not is_check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(made)
    if is_check and stale:
        print(f"{', '.join(stale)}: not what is stored makes; run `make figures`")
        return 1
    return 0


def pages() -> Iterator[tuple[str, str]]:
    """Each page with stored figures, and what it is with them."""
    rows = {told: name for name, told in PAGES.items()}
    for told in sorted({*rows, *SUMMARIES}):
        page = ROOT / told
        content = page.read_text()
        if told in rows:
            content = page_of(content, read(ROWS / f"{rows[told]}.json"), page)
        for part, summary in SUMMARIES.get(told, {}).items():
            content = filled(content, part, summary(), page)
        yield told, content


def charts() -> Iterator[tuple[str, str]]:
    """Each chart of each stored result, and what draws it; the folded ones of a sweep have none."""
    for result in sorted(RESULTS.glob("*.html")):
        named = Named(result.stem, store.load(result))
        for name, drawn in pictures([named], with_details=False):
            yield f"docs/figures/{result.stem}/{name}", drawn


def page_of(content: str, stored: Stored, page: Path) -> str:
    """What the page is with these rows. Exits where it has no place for them."""
    figures: dict[str, list[Figure]] = defaultdict(list)
    for part, table in stored.tables.items():
        if not part.startswith(SENTENCES):
            content = filled(content, part, markdown(table), page)
            continue
        content = filled(content, part, f"Figures of sentences. {origin(table)}", page)
        for row in table.rows:
            section, told = row.figures["section"], row.figures["told"]
            assert isinstance(section, str)
            assert isinstance(told, Figure)
            figures[section].append(told)
    return with_figures(content, figures, page)


if __name__ == "__main__":
    sys.exit(main())
