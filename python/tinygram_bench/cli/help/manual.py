"""`tinygram man`: a manual page for each command, written with the roff macros of man(7)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import tinygram
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.help.examples import EXAMPLES
from tinygram_bench.cli.help.tree import Command, commands_of
from tinygram_bench.model import store

_EXAMPLE_FOLDER = "--into /tmp/man1"


def man(
    context: typer.Context,
    into: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", help="Write the pages to this folder, which is made if it is missing."
        ),
    ],
) -> None:
    """Write the man pages of all commands, made from what their --help says.

    `man FOLDER/tinygram.1` shows one of them. In a folder man1 below one that MANPATH names, man
    finds them by their names.
    """
    root: Any = context.find_root().command
    commands = list(commands_of(root))
    store.make_folder(into, _EXAMPLE_FOLDER)
    for each in commands:
        document = page(each, commands).encode("ascii")
        store.write(into / f"{name_of(each)}.1", document, _EXAMPLE_FOLDER)
    print(f"Saved: {len(commands)} pages in {into}")


def name_of(command: Command) -> str:
    """The page's name, such as `tinygram-serve-rr`."""
    return "-".join(command.path)


def page(command: Command, commands: Sequence[Command]) -> str:
    """The page of one of `commands`, in ASCII: other characters become roff escapes."""
    return "\n".join((*_page(command, commands), ""))


def _page(command: Command, commands: Sequence[Command]) -> Iterator[str]:
    name = name_of(command)
    version = f"tinygram {tinygram.__version__}"
    yield f'.TH "{_text(name.upper())}" 1 "" "{_text(version)}" "tinygram"'
    yield from (".SH NAME", f"{_text(name)} \\- {_text(command.summary)}")
    yield from (".SH SYNOPSIS", f".B {_text(command.usage)}")
    yield from (".SH DESCRIPTION", *_paragraphs(command.about))
    below = [each for each in commands if each.path[:-1] == command.path]
    if below:
        yield ".SH COMMANDS"
        for each in below:
            yield from (".TP", f".B {_text(each.path[-1])}", _text(each.summary))
    for heading, are_arguments in (("ARGUMENTS", True), ("OPTIONS", False)):
        found = [each for each in command.parameters if each.is_argument == are_arguments]
        if found:
            yield f".SH {heading}"
        for parameter in found:
            yield from (".TP", f".B {_text(parameter.usage)}", _text(parameter.meaning))
    yield ".SH EXAMPLES"
    for example in EXAMPLES[command.words]:
        yield from (".TP", f".B {_text(example.line)}", _text(example.meaning))
    yield ".SH EXIT STATUS"
    for code in ExitCode:
        yield from (".TP", f".B {int(code)}", _text(code.meaning))
    yield from (".SH SEE ALSO", *_see_also(command, commands))


def _see_also(command: Command, commands: Sequence[Command]) -> Iterator[str]:
    others = [name_of(each) for each in commands if each != command]
    ends = [","] * (len(others) - 1) + [""]
    for name, end in zip(others, ends, strict=True):
        yield f".BR {_text(name)} (1){end}"


def _paragraphs(text: str) -> Iterator[str]:
    first, *others = text.split("\n\n")
    yield _text(first)
    for other in others:
        yield from (".PP", _text(other))


def _text(text: str) -> str:
    """A line of roff that shows the text as it is, without requests or escapes of its own."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    text = re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", text)
    return f"\\&{text}" if text[:1] in (".", "'") else text
