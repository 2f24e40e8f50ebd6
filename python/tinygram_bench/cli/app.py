"""The subcommands. To add one: a module with a function of the same name, and a line here."""

from __future__ import annotations

from typing import Annotated

import typer

import tinygram
from tinygram_bench.cli.commands import (
    compare,
    echo,
    emulate,
    rerun,
    rr,
    schema,
    sizes,
    stream,
    trust,
    watch,
)
from tinygram_bench.cli.commands.serve import serve
from tinygram_bench.cli.resuming import MeasuringCommand

app = typer.Typer(
    name="tinygram",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=MeasuringCommand)(stream.stream)
app.command(cls=MeasuringCommand)(rr.rr)
app.command(cls=MeasuringCommand)(echo.echo)
app.command(cls=MeasuringCommand)(sizes.sizes)
app.command()(compare.compare)
app.command()(rerun.rerun)
app.command()(trust.trust)
app.command()(emulate.emulate)
app.command()(watch.watch)
app.add_typer(serve, name="serve")
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
