"""Reference pages, made from the command tree, the schema and the library's docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import typer

import tinygram
import tinygram_bench
from tinygram_bench.cli.app import app
from tinygram_bench.cli.help.examples import EXAMPLES
from tinygram_bench.cli.help.tree import commands_of
from tinygram_bench.schema import json_schema


def command_line() -> str:
    """Every command with its options, as `--help` has them."""
    lines = ["# The command line", ""]
    for command in commands_of(typer.main.get_command(app)):
        if len(command.path) > 1:
            lines += [f"## {command.words}", ""]
        lines += [command.about, "", f"    {command.usage}", ""]
        if command.parameters:
            lines += ["| option | meaning |", "|---|---|"]
            lines += [
                f"| `{each.usage}` | {_in_a_cell(each.meaning)} |" for each in command.parameters
            ]
            lines += [""]
        for example in EXAMPLES[command.words]:
            lines += [example.meaning, "", f"    {example.line}", ""]
    return "\n".join(lines)


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


def python_library() -> str:
    """Everything that `import tinygram` offers, with its signature and docstring."""
    return _module("The Python library", tinygram)


def python_bench() -> str:
    """Everything that `import tinygram_bench` offers, likewise."""
    return _module("Measuring from Python", tinygram_bench)


def _module(title: str, module: ModuleType) -> str:
    lines = [f"# {title}", ""]
    for name in module.__all__:
        what = getattr(module, name)
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
    """How it is called: without `self` and a class's result, annotations as written."""
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
