"""`python -m website`: put the site's source together in target/website, for zensical to build.

The pages of docs/ and results/published come as they are, but for links to files that are no pages,
which a site cannot follow; the reference pages are made from the code that they are about.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from website import reference
from website.links import linked_within

ROOT = Path(__file__).parents[1]
GENERATED = {
    "reference/command-line.md": reference.command_line,
    "reference/result-file.md": reference.result_file,
    "reference/python.md": reference.python_library,
    "reference/python-bench.md": reference.python_bench,
}


def main() -> None:
    site_source(ROOT / "target" / "website")


def site_source(folder: Path) -> None:
    """Replace what is in the folder by the site's source.

    Raises FileNotFoundError for a link to a page that is not there, and other OSErrors where it
    cannot be written.
    """
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "docs"
    shutil.copytree(ROOT / "docs", pages)
    shutil.copytree(ROOT / "results" / "published", pages / "published")
    shutil.copy(ROOT / "website" / "zensical.toml", folder)
    shutil.copy(ROOT / "website" / "site.css", pages)
    for name, write in GENERATED.items():
        (pages / name).write_text(write())
    for page in pages.rglob("*.md"):
        page.write_text(linked_within(page.read_text(), page.relative_to(pages), pages))


if __name__ == "__main__":
    main()
