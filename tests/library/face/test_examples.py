"""The library's programs of examples/ run as they are, and print what they should."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "examples"

# What depends on how fast the machine is.
ANY = "…"

PRINTED = {
    "back_pressure": "refused: True\nall arrived: True\n",
    "drop_in_loop": "1000 lines\nfew writes: True\n",
    "forty_ms_tail": (
        "asyncio: 40 ms a request\nasyncio and TCP_NODELAY: no wait\ntinygram's loop: no wait\n"
    ),
    "on_uvloop": "a question in pieces\n",
    "plain_loop": "10000 messages arrived in order\nfew writes: True\n",
    "strategies": (
        "nodelay: 100 messages in 100 writes (100 each_message)\n"
        "nagle: 100 messages in 100 writes (100 each_message)\n"
        "tick: 100 messages in 2 writes (2 full)\n"
        f"adaptive: 100 messages in {ANY}\n"
        "coalesce:1s: 100 messages in 2 writes (2 full)\n"
        "competitive:60s: 100 messages in 2 writes (2 full)\n"
    ),
    "threads": (
        "16000 messages of 8 threads arrived, each thread's in order\nnot delivered: 18 bytes\n"
    ),
    "streams": "you said HELLO\nyou said GOODBYE\n",
}


def test_every_example_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_an_example(name: str) -> None:
    if name == "on_uvloop":
        pytest.importorskip("uvloop")
    process = subprocess.run(
        [sys.executable, "-W", "error", FOLDER / f"{name}.py"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (process.stderr, process.returncode) == ("", 0)
    expected = re.escape(PRINTED[name]).replace(re.escape(ANY), r".+")
    assert re.fullmatch(expected, process.stdout), process.stdout
