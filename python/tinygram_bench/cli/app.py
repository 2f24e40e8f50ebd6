"""The subcommands. To add one: a module with a function of the same name, and a line here."""

from __future__ import annotations

from typing import Annotated

import typer

from tinygram_bench.cli.commands import (
    compare,
    echo,
    emulate,
    report,
    rerun,
    rr,
    schema,
    sizes,
    stream,
    trust,
    watch,
)
from tinygram_bench.cli.commands.serve import serve
from tinygram_bench.cli.help.completion import completion
from tinygram_bench.cli.help.examples import epilog
from tinygram_bench.cli.help.manual import man
from tinygram_bench.cli.help.version import version_lines
from tinygram_bench.cli.resuming import MeasuringCommand

app = typer.Typer(
    name="tinygram",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _measuring in (stream.stream, rr.rr, echo.echo, sizes.sizes):
    app.command(cls=MeasuringCommand, epilog=epilog(f"tinygram {_measuring.__name__}"))(_measuring)
for _other in (
    *(
        report.report,
        compare.compare,
        rerun.rerun,
        trust.trust,
        emulate.emulate,
        watch.watch,
        schema.schema,
    ),
    *(completion, man),
):
    app.command(epilog=epilog(f"tinygram {_other.__name__}"))(_other)
app.add_typer(serve, name="serve", epilog=epilog("tinygram serve"))


def _print_version(wanted: bool) -> None:
    if wanted:
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
