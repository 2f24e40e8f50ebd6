"""The command tree, from which completion, man pages and reference pages are made."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from typing import Any, Final, Literal

from msgspec import Struct

FILES: Final = "files"


class Parameter(Struct, frozen=True):
    """An option or an argument of a command.

    `names`: what is typed, such as `--rounds`; for an argument, only its metavar. `usage` and
    `meaning` are as `--help` has them. `values`: the known values, or FILES for a path.
    """

    names: tuple[str, ...]
    is_argument: bool
    takes_value: bool
    usage: str
    meaning: str
    values: tuple[str, ...] | Literal["files"]


class Command(Struct, frozen=True):
    """A command: `path` has all words that call it, `below` the names of its subcommands."""

    path: tuple[str, ...]
    usage: str
    summary: str
    about: str
    parameters: tuple[Parameter, ...]
    below: tuple[str, ...]

    @property
    def words(self) -> str:
        """The words that call the command, such as `tinygram serve rr`."""
        return " ".join(self.path)


def commands_of(root: Any, path: tuple[str, ...] = ("tinygram",)) -> Iterator[Command]:
    """The typer command `root` and all commands below it, each before its own subcommands."""
    context = root.make_context(path[-1], [], resilient_parsing=True)
    below = getattr(root, "commands", {})
    about = cleandoc((root.help or "").replace("\b", "").replace("\f", ""))
    yield Command(
        path=path,
        usage=" ".join((*path, *root.collect_usage_pieces(context))),
        summary=" ".join(about.partition("\n\n")[0].split()),
        about=about,
        parameters=tuple(_parameter(each, context) for each in root.get_params(context)),
        below=tuple(below),
    )
    for name, command in below.items():
        yield from commands_of(command, (*path, name))


def _parameter(found: Any, context: Any) -> Parameter:
    is_argument = found.param_type_name == "argument"
    usage, meaning = found.get_help_record(context) or (found.make_metavar(context), "")
    return Parameter(
        names=(usage,) if is_argument else (*found.opts, *found.secondary_opts),
        is_argument=is_argument,
        takes_value=is_argument or not (found.is_flag or found.count),
        usage=usage,
        meaning=" ".join(meaning.split()),
        values=_values(found, context),
    )


def _values(found: Any, context: Any) -> tuple[str, ...] | Literal["files"]:
    if found.type.name == "path":
        return FILES
    return tuple(each.value for each in found.shell_complete(context, ""))
