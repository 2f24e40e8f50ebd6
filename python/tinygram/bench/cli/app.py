"""The subcommands. To add one: a module with a function of the same name, and a line here."""

from __future__ import annotations

from typing import Annotated

import typer

import tinygram
from tinygram.bench.cli import schema, stream, watch

app = typer.Typer(
    name="tinygram", add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)
app.command()(stream.stream)
app.command()(watch.watch)
app.command()(schema.schema)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tinygram {tinygram.__version__}")
        raise typer.Exit


@app.callback()
def _tinygram(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """How should my program send its small messages over TCP? Measured honestly."""
