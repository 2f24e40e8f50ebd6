"""Results inside an HTML page: each in a script element that no browser runs, xz in base64.

The element has its own type, and the name of the result. Nothing else of a page is read back.
"""

from __future__ import annotations

import base64
import binascii
import html
import lzma
import re

_TYPE = "application/x-tinygram-result"
_ELEMENT = re.compile(
    rb'<script type="' + re.escape(_TYPE).encode() + rb'" data-name="([^"<>]*)">([^<]*)</script>'
)
_MOST_BYTES = 1 << 30
"""A result that unpacks to more is refused: nobody has measured one."""


def is_page(document: bytes) -> bool:
    """Whether a file's content is markup, so that results are inside it, if anywhere."""
    return document.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<"


def element_of(name: str, document: bytes) -> str:
    """The script element that holds a result file's content under this name."""
    packed = base64.b64encode(lzma.compress(document)).decode("ascii")
    return f'<script type="{_TYPE}" data-name="{html.escape(name)}">{packed}</script>'


def results_in(page: bytes) -> tuple[tuple[str, bytes], ...]:
    """The names and contents of a page's results. Raises ValueError where one is damaged."""
    return tuple(
        (html.unescape(name.decode("utf-8", "replace")), _unpacked(packed))
        for name, packed in _ELEMENT.findall(page)
    )


def _unpacked(packed: bytes) -> bytes:
    try:
        unpacking = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        document = unpacking.decompress(base64.b64decode(packed, validate=True), _MOST_BYTES)
    except (binascii.Error, lzma.LZMAError) as error:
        raise ValueError(f"the result in it is damaged: {error}") from error
    if not unpacking.eof:
        raise ValueError("the result in it is damaged: its end is missing")
    return document
