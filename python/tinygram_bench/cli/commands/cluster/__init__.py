"""`tinygram cluster`: what a Ray cluster is, before measuring on it."""

from __future__ import annotations

import typer

from tinygram_bench.cli.commands.cluster.check import check
from tinygram_bench.cli.help.examples import epilog

cluster = typer.Typer(
    name="cluster", epilog=epilog("tinygram cluster"), add_completion=False, rich_markup_mode=None
)


@cluster.callback()
def _cluster() -> None:
    """Many hosts that measure together (extra `cluster`): `stream`, `rr` or `echo --cluster`."""


cluster.command("check", epilog=epilog("tinygram cluster check"))(check)
