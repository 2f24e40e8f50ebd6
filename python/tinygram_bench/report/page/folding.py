"""What a page has packed for its script: charts, Vega, and in a large page what is folded."""

from __future__ import annotations

import base64
import gzip
import json

from markupsafe import Markup


def packed(text: str) -> str:
    """The text in gzip and base64, which browsers unpack, and which cannot end an element."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()


class Folded:
    """What is folded on a page: written in its place, or packed for the script to put there."""

    def __init__(self, is_packed: bool) -> None:
        self._is_packed = is_packed
        self._contents: list[str] = []

    def place(self, content: str) -> Markup:
        """What stands in the place of the content, in the order of the page."""
        if not self._is_packed:
            return Markup(content)
        self._contents.append(content)
        return Markup('<div data-packed="{}"></div>').format(len(self._contents) - 1)

    def packed(self) -> str:
        """All contents that were packed so far, as a list in the order of their places."""
        return packed(json.dumps(self._contents))
