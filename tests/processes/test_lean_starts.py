"""Processes import what they use: the bench starts many, and most use no event loop and no TLS.

So does the command: it says what is wrong with an option without what it would measure by.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

STREAM = "tinygram_bench.workloads.stream"
SERVERS = "tinygram_bench.workloads.echo.servers"
COMMAND = ("asyncio", "concurrent.futures", "importlib.metadata", "rich.console", "ssl")
# The ends of a stream use typing, or a line of their own, instead.
SENDER = ("fractions", "inspect", "pathlib", "random", "secrets", "typing_extensions")
WITHOUT = {
    "tinygram": ("asyncio", "inspect", "ssl"),
    f"{STREAM}.sender": ("asyncio", "ssl"),
    f"{STREAM}.receiver": ("asyncio", "ssl"),
    "tinygram_bench.ways.by_hand.threads": ("asyncio", "ssl"),
    "tinygram_bench.ways.library.threads": ("asyncio", "ssl"),
    "tinygram_bench.ways.native": ("asyncio", "ssl"),
    "tinygram_bench.workloads.fanout.publisher": ("asyncio", "ssl"),
    "tinygram_bench.workloads.echo.client": ("asyncio", "ssl"),
    "tinygram_bench.workloads.echo.server": ("asyncio", "ssl"),
    f"{SERVERS}.native": ("asyncio", "ssl"),
    f"{SERVERS}.threads_recv": ("asyncio", "ssl"),
    f"{SERVERS}.threads_recv_into": ("asyncio", "ssl"),
    f"{SERVERS}.threads_recvmsg_into": ("asyncio", "ssl"),
    "tinygram_bench.workloads.rr.callers": ("asyncio",),
    "tinygram_bench.workloads.rr.server": ("asyncio", "ssl"),
    "tinygram_bench.cli.commands.stream": COMMAND,
    "tinygram_bench.cli.commands.sizes": COMMAND,
}

TELLS_OF_COLLECTOR = """
import gc
import tinygram_bench.model.result

def main():
    print(gc.isenabled(), gc.get_freeze_count() > 10_000)
    return 0
"""
# Whether the collector is on when the commands write, also where a subcommand is imported already.
COMMANDS = """
import gc, io, sys
from contextlib import suppress
from tinygram_bench.cli import main

was_on = set()

class Told(io.TextIOWrapper):
    def write(self, text):
        was_on.add(gc.isenabled())
        return super().write(text)

for words in (["--help"], ["schema"], ["schema"]):
    sys.argv[1:] = words
    sys.stdout = Told(io.BytesIO(), encoding="utf-8")
    with suppress(SystemExit):
        main()
print(was_on, gc.get_freeze_count() > 10_000, file=sys.__stdout__)
"""


@pytest.mark.parametrize("module", WITHOUT)
def test_it_starts_without_what_it_may_never_use(module: str) -> None:
    assert imported_by(f"import {module}", WITHOUT[module]) == []


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_an_end_of_a_stream_starts_without_more(end: str) -> None:
    start = f"sys.argv.append('{STREAM}.{end}'); from tinygram_bench.processes import start"
    assert imported_by(f"{start}; start.main()", SENDER) == []


@pytest.mark.parametrize("is_known", [True, False], ids=["imported before", "asked for"])
def test_a_process_starts_with_what_its_msgspec_cannot_do_without(
    tmp_path: Path, is_known: bool
) -> None:
    """One that is imported already is left, so that who has it goes on with it."""
    (tmp_path / "typing_extensions.py").write_text("names = []\n")
    (tmp_path / "msgspec.py").write_text("from typing_extensions import names\n")
    told = "import msgspec\n\ndef main():\n    msgspec.names.append('told')\n    return 0\n"
    (tmp_path / "told.py").write_text(told)
    asked = "from typing_extensions import names"
    start = "import sys; sys.argv.append('told'); from tinygram_bench.processes import start"
    steps = [asked, f"{start}; start.main()"] if is_known else [f"{start}; start.main()", asked]
    program = "; ".join([*steps, "print(names)"])
    assert printed([sys.executable, "-c", program], tmp_path) == "['told']\n"


def test_the_collector_of_a_process_leaves_alone_what_was_imported(tmp_path: Path) -> None:
    """It would look at all of it again while the process measures, and when it ends."""
    (tmp_path / "told.py").write_text(TELLS_OF_COLLECTOR)
    start = [sys.executable, "-m", "tinygram_bench.processes.start", "told"]
    assert printed(start, tmp_path) == "True True\n"


def test_the_collector_of_the_command_does_so_too_and_is_on_meanwhile(tmp_path: Path) -> None:
    assert printed([sys.executable, "-c", COMMANDS], tmp_path) == "{True} True\n"


def printed(command: list[str], folder: Path) -> str:
    """What a program prints that finds the modules of this folder."""
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported_by(program: str, of: tuple[str, ...]) -> list[str]:
    """Those of these modules that the program has imported at its end."""
    told = f"import sys; {program}; print(*sorted({{*sys.modules}} & {{*{of!r}}}))"
    done = subprocess.run(
        [sys.executable, "-c", told],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.split()
