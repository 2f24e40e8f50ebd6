"""Plain text where it is asked for: ASCII in the C locale, no colour and no style with NO_COLOR.

NO_COLOR is the convention of no-color.org; the locale is the first of LC_ALL, LC_CTYPE and LANG
that is set (POSIX.1-2017, 8.2). Output for programs is UTF-8 in every locale.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Mapping
from typing import TextIO

LINES = "\n\N{NO-BREAK SPACE}"
"""What a text of several lines may contain besides the characters that Python calls printable."""
_ERRORS = "tinygram_ascii"
_IN_ASCII = {
    "–": "-",
    "−": "-",
    "─": "-",
    "×": "x",
    "÷": "/",
    "µ": "u",
    "≥": ">=",
    "≤": "<=",
    "±": "+-",
    "’": "'",
    "“": '"',
    "”": '"',
    "…": "...",
    "·": ".",
    "→": "->",
}


def as_ascii(text: str) -> str:
    """The text in ASCII; `?` stands for a character that has no replacement."""
    return text.encode("ascii", _ERRORS).decode("ascii")


def printable(text: str, *, kept: str = "") -> str:
    """The text without characters that could control a terminal, except those of `kept`."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in kept else "\N{REPLACEMENT CHARACTER}" for each in text
    )


def as_utf8(text: str) -> str:
    """The text with bytes that are not UTF-8 replaced: file names and arguments may have some."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def wants_ascii(environment: Mapping[str, str]) -> bool:
    """Whether the locale is the C locale, which has ASCII alone."""
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        if environment.get(name):
            return environment[name] in ("C", "POSIX")
    return False


def wants_no_style(environment: Mapping[str, str]) -> bool:
    """Whether neither colours nor bold text are wanted: NO_COLOR is set and not empty."""
    return bool(environment.get("NO_COLOR"))


def write_ascii(stream: TextIO) -> None:
    """From now on let `stream` write all text as `as_ascii` makes it."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding="ascii", errors=_ERRORS)


def write_any_name(stream: TextIO) -> None:
    """From now on let `stream` write names of files that are not UTF-8, with escapes in them."""
    if hasattr(stream, "reconfigure") and stream.errors == "strict":
        stream.reconfigure(errors="backslashreplace")


def write_utf8(text: str) -> None:
    """Write text that programs read to standard output."""
    _write(text.encode())


def write_json(document: bytes) -> None:
    """Write a line of JSON to standard output."""
    _write(document + b"\n")


def _write(document: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(document)
    sys.stdout.buffer.flush()


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_IN_ASCII.get(each, "?") for each in text), error.end


codecs.register_error(_ERRORS, _replaced)
