"""The subcommands. To add one, write a module with a function of its name, and name it here."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tinygram_bench.cli.help.examples import epilog
from tinygram_bench.processes.importing import importing

_HERE = "tinygram_bench.cli"
_MEASURING = {
    name: f"{_HERE}.commands.{name}" for name in ("stream", "rr", "echo", "sizes", "fanout")
}
_OTHERS = ("report", "compare", "rerun", "trust", "emulate", "watch", "schema")
_MODULES = {
    **_MEASURING,
    **{name: f"{_HERE}.commands.{name}" for name in _OTHERS},
    "completion": f"{_HERE}.help.completion",
    "man": f"{_HERE}.help.manual",
    "serve": f"{_HERE}.commands.serve",
    "cluster": f"{_HERE}.commands.cluster",
}
"""Subcommand → its module, in the order of --help."""
_SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}


class _Subcommands(UserDict[str, Any]):
    """Name → command. Only the module of a command that is asked for is imported."""

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            self.data[name] = _made(name)
        return self.data[name]


class _Tinygram(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Subcommands(dict.fromkeys(_MODULES))


def _made(name: str) -> Any:
    with importing():
        return _command(name)


def _command(name: str) -> Any:
    found = getattr(import_module(_MODULES[name]), name)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    alone = typer.Typer(**_SETTINGS)
    words = f"tinygram {name}"
    if name in _MEASURING:
        from tinygram_bench.cli.resuming import MeasuringCommand

        alone.command(cls=MeasuringCommand, epilog=epilog(words))(found)
    else:
        alone.command(epilog=epilog(words))(found)
    return typer.main.get_command(alone)


app = typer.Typer(
    name="tinygram",
    cls=_Tinygram,
    context_settings={"help_option_names": ["-h", "--help"]},
    **_SETTINGS,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from tinygram_bench.cli.help.version import version_lines

        print("\n".join(version_lines()))
        raise typer.Exit


@app.callback(epilog=epilog("tinygram"))
def _tinygram(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the versions, and what the kernel and the installation offer.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """How should my program send its small messages over TCP? Measured honestly."""
