"""Results inside an HTML page: each is xz in base64, in a script element that no browser runs.

The element has a type of its own, and the name of the result, whose rows are in columns
(columns.py); pages of earlier versions have rows. Nothing else of a page is read back.
"""

from __future__ import annotations

import base64
import binascii
import html
import lzma
import re
from collections.abc import Iterator

from tinygram_bench.model.store.columns import in_columns, in_rows

_TYPE = "application/x-tinygram-result"
_ELEMENT = re.compile(
    rb'<script type="' + re.escape(_TYPE).encode() + rb'" data-name="([^"<>]*)">([^<]*)</script>'
)
MOST_BYTES = 256 << 20
"""The greatest length of a result file, and of what all results of a page together unpack to:
nobody has measured more."""
MOST_VALUES = 16_000_000
"""The most values of a result file, and of all results of a page together. A value is 17 bytes of a
result that was measured, so that MOST_BYTES come first; a file made by hand could have one in 2
bytes, and each takes up to 100 bytes of memory."""
_MOST_WORKING_BYTES = 64 << 20
"""The most memory that unpacking may take beside: what `element_of` packs needs 9 MiB."""


class TooLargeError(ValueError):
    """A page's results unpack to more than is allowed."""


def is_page(document: bytes) -> bool:
    """Whether a file's content is markup, so that results are inside it, if anywhere."""
    return document.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<"


def element_of(name: str, document: bytes, preset: int = 6 | lzma.PRESET_EXTREME) -> str:
    """The script element that holds a result file's content under this name.

    `preset`: the preset of xz, from 0, the fastest, to 9; with 0 an element is a sixth larger. The
    figures of many runs take a sixth less for `PRESET_EXTREME`, and twice as long.
    """
    packed = base64.b64encode(lzma.compress(in_columns(document), preset=preset)).decode("ascii")
    return f'<script type="{_TYPE}" data-name="{html.escape(name)}">{packed}</script>'


def results_in(page: bytes) -> Iterator[tuple[str, bytes]]:
    """The names and contents of a page's results, each unpacked when it is asked for.

    Raises ValueError where one is damaged, and TooLargeError before too much memory is taken.
    """
    bytes_left, values_left = MOST_BYTES, MOST_VALUES
    for found in _ELEMENT.finditer(page):
        document = _unpacked(found[2], bytes_left)
        # What is in columns is counted before they are decoded, and then once more in rows.
        if values_of(document) > values_left:
            raise _too_large()
        document = _in_rows(document, bytes_left)
        bytes_left -= len(document)
        values_left -= values_of(document)
        if bytes_left < 0 or values_left < 0:
            raise _too_large()
        yield html.unescape(found[1].decode("utf-8", "replace")), document


def values_of(document: bytes) -> int:
    """How many values a document has, or a few more: each but the first follows one of these."""
    return sum(map(document.count, (b"[", b"{", b",")))


def _in_rows(document: bytes, most_bytes: int) -> bytes:
    try:
        return in_rows(document, most_bytes)
    except OverflowError as error:
        raise _too_large() from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the result in it is damaged: {error}") from error


def _too_large() -> TooLargeError:
    return TooLargeError(
        f"the results in it unpack to more than {MOST_BYTES >> 20} MiB, or to more than "
        f"{MOST_VALUES:,} values"
    )


def _unpacked(packed: bytes, most_bytes: int) -> bytes:
    try:
        unpacking = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_WORKING_BYTES)
        document = unpacking.decompress(base64.b64decode(packed, validate=True), most_bytes + 1)
    except (binascii.Error, lzma.LZMAError) as error:
        if "limit" in str(error):
            raise TooLargeError(
                f"unpacking a result in it would take more than {_MOST_WORKING_BYTES >> 20} MiB of "
                "memory"
            ) from error
        raise ValueError(f"the result in it is damaged: {error}") from error
    if len(document) > most_bytes:
        raise _too_large()
    if not unpacking.eof:
        raise ValueError("the result in it is damaged: its end is missing")
    return document
