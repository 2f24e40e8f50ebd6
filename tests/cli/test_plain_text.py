"""Plain text where it is asked for: ASCII in the C locale, no escape codes with NO_COLOR."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygram_bench.model.plain_text import LINES, as_ascii, printable, wants_ascii, wants_no_style

PACED = Path(__file__).parents[1] / "model" / "stored" / "v1-stream-paced.json"
QUICK = ("stream", "--only", "loop/nodelay", "--messages", "1k", "--rounds", "1")
ESCAPE = "\x1b["


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What the command writes on a terminal of its own."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "tinygram", *arguments],
        env={**os.environ, "TERM": "xterm", **environment},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ) as command:
        os.close(theirs)
        written = bytearray()
        try:
            while chunk := os.read(ours, 65_536):
                written += chunk
        except OSError:
            written += b""  # The terminal's other end is closed: EIO is how that is told.
        finally:
            os.close(ours)
    assert command.returncode == 0
    return written.decode()


def test_a_terminal_gets_style_and_no_color_takes_it_off(tmp_path: os.PathLike[str]) -> None:
    file = os.fspath(tmp_path) + "/result.json"
    styled = on_a_terminal(*QUICK, "--json", file, NO_COLOR="")
    plain = on_a_terminal(*QUICK, "--json", file, NO_COLOR="1")
    assert ESCAPE in styled
    assert ESCAPE not in plain
    assert "The answer" in plain


def test_the_c_locale_gets_ascii_on_a_terminal(tmp_path: os.PathLike[str]) -> None:
    file = os.fspath(tmp_path) + "/result.json"
    assert on_a_terminal(*QUICK, "--json", file, LC_ALL="C", NO_COLOR="1").isascii()
    assert "×" in on_a_terminal(*QUICK, "--json", file, LC_ALL="C.UTF-8", NO_COLOR="1")


@pytest.mark.parametrize(("locale", "between"), [("C", "1 ... 10000"), ("C.UTF-8", "1 … 10000")])
def test_errors_keep_to_the_locale(locale: str, between: str) -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "tinygram", "stream", "--rounds", "0"],
        env={**os.environ, "LC_ALL": locale},
        capture_output=True,
        check=False,
    )
    assert refused.returncode == 2
    assert refused.stderr.decode() == f"tinygram: error: --rounds 0 is outside {between}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("schema",),
        ("report", PACED, "--csv", "-"),
        ("report", PACED, "--markdown"),
    ],
    ids=["schema", "csv", "markdown"],
)
def test_what_programs_read_is_utf_8_in_every_locale(arguments: tuple[object, ...]) -> None:
    found = [
        subprocess.run(
            [sys.executable, "-m", "tinygram", *map(str, arguments)],
            env={**os.environ, "LC_ALL": locale},
            capture_output=True,
            check=True,
        ).stdout
        for locale in ("C", "C.UTF-8")
    ]
    assert found[0] == found[1]
    assert not found[0].isascii()


@pytest.mark.parametrize(
    ("environment", "is_wanted"),
    [
        ({}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "POSIX"}, True),
        ({"LANG": "en_GB.UTF-8"}, False),
        ({"LANG": "C", "LC_ALL": "C.UTF-8"}, False),
        ({"LANG": "en_GB.UTF-8", "LC_CTYPE": "C"}, True),
        ({"LANG": "C", "LC_ALL": ""}, True),
    ],
)
def test_the_first_locale_that_is_set_counts(environment: dict[str, str], is_wanted: bool) -> None:
    assert wants_ascii(environment) == is_wanted


def test_no_color_counts_when_it_is_not_empty() -> None:
    assert wants_no_style({"NO_COLOR": "0"})
    assert not wants_no_style({"NO_COLOR": ""})
    assert not wants_no_style({})


@given(st.text())
def test_whatever_is_written_becomes_ascii(text: str) -> None:
    assert as_ascii(text).isascii()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("p50 5 µs\n\N{NO-BREAK SPACE}x", "p50 5 µs\n\N{NO-BREAK SPACE}x"),
        ("a\x1b[2Jb\x07", "a\ufffd[2Jb\ufffd"),
        ("a\x9b2J\r", "a\ufffd2J\ufffd"),
        ("a\N{RIGHT-TO-LEFT OVERRIDE}b", "a\ufffdb"),
    ],
)
def test_what_could_steer_a_terminal_is_replaced(text: str, shown: str) -> None:
    assert printable(text, kept=LINES) == shown
