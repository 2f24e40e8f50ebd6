"""`tinygram serve`: the far end of another host's measurements, or a native server alone."""

from __future__ import annotations

import typer

from tinygram_bench.cli.commands.serve.echo import serve_echo
from tinygram_bench.cli.commands.serve.hosts import serve_hosts
from tinygram_bench.cli.commands.serve.rr import serve_rr
from tinygram_bench.cli.commands.serve.sizes import serve_sizes
from tinygram_bench.cli.help.examples import epilog

serve = typer.Typer(
    name="serve", epilog=epilog("tinygram serve"), add_completion=False, rich_markup_mode=None
)
serve.callback(invoke_without_command=True)(serve_hosts)
serve.command("rr", epilog=epilog("tinygram serve rr"))(serve_rr)
serve.command("echo", epilog=epilog("tinygram serve echo"))(serve_echo)
serve.command("sizes", epilog=epilog("tinygram serve sizes"))(serve_sizes)
