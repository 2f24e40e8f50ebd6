"""The command lines of receivers that are not ours, for `--receiver-command`."""

from __future__ import annotations

import shlex
import sys
import uuid
from pathlib import Path

from tests.stream.programs.relay import RECEIVER


def program(name: str, *arguments: object) -> str:
    """The command line of one of our programs, for `--receiver-command`."""
    return shlex.join([sys.executable, "-m", f"tests.stream.programs.{name}", *map(str, arguments)])


def in_turn(folder: Path, *turns: str) -> str:
    """The command line of receivers that change from start to start.

    The first start becomes the first of `turns`, each NAME:ARGUMENT of a program of ours, and so
    on; `receiver`, and every start after the last, the real receiver. Files count the starts. It is
    a shell that becomes them: a Python would cost each of them another start.
    """
    starts = folder / f"starts-{uuid.uuid4().hex}"
    starts.mkdir()
    script = starts.with_suffix(".sh")
    script.write_text(
        f"starts={shlex.quote(str(starts))}\n"
        "number=0\n"
        'while [ -e "$starts/$number" ]; do number=$((number + 1)); done\n'
        ': >"$starts/$number"\n'
        'case "$number" in\n'
        + "".join(f'{at}) exec {_words(turn)} "$@" ;;\n' for at, turn in enumerate(turns))
        + f'*) exec {_words("receiver")} "$@" ;;\n'
        "esac\n"
    )
    return shlex.join(["/bin/sh", str(script)])


def _words(turn: str) -> str:
    name, _, argument = turn.partition(":")
    return shlex.join(RECEIVER) if name == "receiver" else program(name, argument)
