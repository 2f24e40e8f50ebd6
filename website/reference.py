"""Reference pages, made from the command tree, the schema and the library's docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import click
import typer

import tinygram
from tinygram_bench.cli.app import app
from tinygram_bench.schema import json_schema


def command_line() -> str:
    """Every command with its options, as `--help` has them."""
    root = typer.main.get_command(app)
    lines = ["# The command line", "", _paragraphs(root.help), ""]
    for path, command in _commands("tinygram", root):
        lines += [f"## {path}", "", _paragraphs(command.help), ""]
        lines += [f"    {path} {_usage(command)}".rstrip(), ""]
        lines += _options(command)
    return "\n".join(lines)


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    for name, below in getattr(command, "commands", {}).items():
        yield f"{path} {name}", below
        yield from _commands(f"{path} {name}", below)


def _usage(command: Any) -> str:
    return " ".join(command.collect_usage_pieces(_context(command)))


def _options(command: Any) -> Iterator[str]:
    records = [
        record
        for parameter in command.get_params(_context(command))
        if (record := parameter.get_help_record(_context(command)))
    ]
    if records:
        yield from ("| option | meaning |", "|---|---|")
    for option, meaning in records:
        yield f"| `{option}` | {_in_a_cell(meaning)} |"
    yield ""


def _context(command: Any) -> click.Context:
    context: click.Context = command.make_context(
        command.name or "tinygram", [], resilient_parsing=True
    )
    return context


def result_file() -> str:
    """Every property, counter, figure and histogram of a result file."""
    structs: Mapping[str, Any] = json_schema()["$defs"]
    lines = [
        "# The result file",
        "",
        "A measurement is one JSON file. `tinygram schema` prints its JSON Schema (draft 2020-12), "
        "from which this page is made.",
        "",
    ]
    for name, struct in structs.items():
        lines += [f"## {name}", "", _paragraphs(struct.get("description")), ""]
        lines += _properties(struct.get("properties", {}))
        for property, found in struct.get("properties", {}).items():
            if "properties" in found:
                lines += [f"### `{property}` of {name}", ""]
                lines += _properties(found["properties"])
    return "\n".join(lines)


def _properties(properties: Mapping[str, Any]) -> Iterator[str]:
    if not properties:
        return
    yield from ("| name | meaning |", "|---|---|")
    for name, found in properties.items():
        yield f"| `{name}` | {_in_a_cell(found.get('description', ''))} |"
    yield ""


def python() -> str:
    """Everything that `import tinygram` offers, with its signature and docstring."""
    lines = ["# The Python library", ""]
    for name in tinygram.__all__:
        what = getattr(tinygram, name)
        if inspect.ismodule(what) or name.startswith("__"):
            continue
        lines += [f"## {name}", "", f"    {name}{_signature(what)}", ""]
        lines += [_paragraphs(_docstring(what)), ""]
        if inspect.isclass(what):
            lines += _members(what)
    return "\n".join(lines)


def _members(kind: type) -> Iterator[str]:
    """Its own and those of our classes above it."""
    seen = set()
    for owner in kind.__mro__:
        if not owner.__module__.startswith("tinygram"):
            continue
        for name, member in vars(owner).items():
            said = _docstring(member)
            if name.startswith("_") or name in seen or not said:
                continue
            seen.add(name)
            shown = f"{name}{_signature(member)}" if callable(member) else name
            yield from (
                f"### {kind.__name__}.{name}",
                "",
                f"    {shown}",
                "",
                _paragraphs(said),
                "",
            )


def _signature(what: Any) -> str:
    """As it is called: without `self` and what a class returns; annotations as they are written."""
    try:
        found = inspect.signature(what)
    except (TypeError, ValueError):  # A value, or a native class that does not say.
        return ""
    parameters = [each for each in found.parameters.values() if each.name != "self"]
    returned = found.empty if inspect.isclass(what) else found.return_annotation
    text = str(found.replace(parameters=parameters, return_annotation=returned))
    return text.replace("'", "")


def _docstring(what: Any) -> str:
    """Its own docstring; that of a value is its class's, and says nothing of it."""
    is_plain = inspect.isroutine(what) or inspect.isclass(what) or inspect.isdatadescriptor(what)
    return (inspect.getdoc(what) or "") if is_plain else ""


def _paragraphs(text: str | None) -> str:
    return inspect.cleandoc((text or "").replace("\b", "").replace("\f", ""))


def _in_a_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
