"""Figures with intervals in a page's sentences, such as `4.15 (3.97–4.34)`, from stored rows.

The figures of a section are stored in their order there. Each is written with the decimals that the
page has in its place; the words around it are the author's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from published.stored import Figure

_NUMBER = r"[+-]?\d[\d,]*(?:\.\d+)?"
_UNIT = r"\s*(?:%|µs|ms|k/s|M/s|kB|CPU\s+seconds)"
TOLD = re.compile(
    rf"(?<![\w.])(?P<median>{_NUMBER})(?:{_UNIT})?(?:,|\s+\()\s?"
    rf"(?P<low>{_NUMBER})\s?[–-]\s?(?P<high>{_NUMBER})(?=[),])"
)
_TABLE = re.compile(r"<!-- ([\w-]+) -->.*?<!-- end of \1 -->", re.DOTALL)


def sections(content: str) -> Iterator[tuple[str, str]]:
    """Each heading, up to the dash before its verdict, and its section, heading included."""
    for part in re.split(r"^(?=#)", content, flags=re.MULTILINE):
        yield part.partition("\n")[0].lstrip("# ").partition(" — ")[0], part


def told_in(section: str) -> list[re.Match[str]]:
    """The figures with intervals in a section's sentences; those of stored tables are left out."""
    tables = [match.span() for match in _TABLE.finditer(section)]
    return [
        match
        for match in TOLD.finditer(section)
        if not any(begin <= match.start() < end for begin, end in tables)
    ]


def with_figures(content: str, stored: Mapping[str, Sequence[Figure]], page: Path) -> str:
    """The page's content with the stored figures of each section.

    Exits where a section has more or fewer of them than are stored.
    """
    parts = []
    seen = set()
    for heading, section in sections(content):
        found, figures = told_in(section), stored.get(heading, ())
        if len(found) != len(figures):
            raise SystemExit(
                f"{page}, {heading!r}: {len(found)} figures with intervals in its sentences, and "
                f"{len(figures)} are stored"
            )
        seen.add(heading)
        for match, figure in reversed([*zip(found, figures, strict=True)]):
            for name in ("high", "low", "median"):
                begin, end = match.span(name)
                section = (
                    section[:begin] + _like(match[name], getattr(figure, name)) + section[end:]
                )
        parts.append(section)
    if missing := stored.keys() - seen:
        raise SystemExit(f"{page} has no section {', '.join(sorted(missing))}")
    return "".join(parts)


def _like(text: str, value: float) -> str:
    """The value with the decimals, and the sign, of the text in its place."""
    decimals = len(text.partition(".")[2])
    sign = "+" if text.startswith("+") else ""
    return f"{value:{sign},.{decimals}f}"
