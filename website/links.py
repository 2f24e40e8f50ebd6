"""Links of a page: those to pages stay, those to other files of the repository become paths."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#]+)(#[^)]*)?\)")
_ELSEWHERE = ("http://", "https://", "mailto:")
_PUBLISHED = "../results/published/"


def linked_within(text: str, page: Path, pages: Path) -> str:
    """The text of `page`, a path below `pages`, with links that lead to pages only.

    Raises FileNotFoundError for a link to a page that is not there.
    """

    def relinked(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        if target.startswith(_ELSEWHERE):
            return found[0]
        # Its path from docs/, which begins with `../` where it is outside.
        place = posixpath.normpath(posixpath.join(page.parent.as_posix(), target))
        if page.parts[0] == "published":
            place = posixpath.normpath(posixpath.join("../results", page.parent.as_posix(), target))
            place = place.removeprefix("../docs/")
        if place.startswith(_PUBLISHED):
            place = "published/" + place.removeprefix(_PUBLISHED)
        if place.startswith("../"):
            path = place.removeprefix("../")
            return f"`{path}`" if words.strip("/") == path else f"{words} (`{path}`)"
        if not (pages / place).exists():
            raise FileNotFoundError(f"{page} links to {target}, which is not there")
        return f"[{words}]({posixpath.relpath(place, page.parent.as_posix() or '.')}{anchor})"

    return _LINK.sub(relinked, text)
