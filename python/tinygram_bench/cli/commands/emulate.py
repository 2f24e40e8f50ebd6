"""`tinygram emulate`: any program behind an emulated link, and another at its far end."""

from __future__ import annotations

import shlex
import shutil
import sys
from typing import Annotated

import typer

from tinygram_bench.cli import quantities
from tinygram_bench.cli.bounds import between, check_command
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.cli.options import LinkBackend
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.host.network.settings import check_congestion_control
from tinygram_bench.links import DEFAULT_BACKEND, PRESETS, backend_of, parse_link, prepare
from tinygram_bench.links.check import check
from tinygram_bench.links.programs import run_over
from tinygram_bench.links.spec import CUSTOM_EXAMPLE
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import DEFAULT_CONGESTION_CONTROL
from tinygram_bench.processes.workers import RunError


def emulate(
    link: Annotated[
        str | None,
        typer.Argument(
            metavar="LINK",
            help=f"{', '.join(PRESETS)}, veth, or your own: {CUSTOM_EXAMPLE}",
            autocompletion=lambda: ["veth", *PRESETS],
        ),
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- CMD…", help="The program on the near host."),
    ] = None,
    far: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Program for the far host; CMD starts when it listens, or after 2 s. It runs "
            "without a shell: for one, write \"sh -c '…'\".",
        ),
    ] = None,
    link_backend: LinkBackend = DEFAULT_BACKEND,
    congestion_control: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Congestion control for programs that choose none themselves.",
            show_default=f"{DEFAULT_CONGESTION_CONTROL}, or else reno",
        ),
    ] = None,
    seed: Annotated[
        int, quantities.count("Seed for simulated loss and jitter (netem ignores it).", "1")
    ] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not describe the link.")] = False,
    check_only: Annotated[
        bool,
        typer.Option("--check", help="Show what this machine permits, and how to permit more."),
    ] = False,
) -> int:
    """Run a program over a link, and exit as it does; $TINYGRAM_FAR is the far host's address.

    It exits with 1, too, when a program did not start, or the far one ended before it listened.
    """
    if check_only and (link is not None or far is not None):
        raise UsageError(
            "--check looks at this machine, not at a link: leave out the link and --far"
        )
    if check_only:
        lines, is_any = check()
        print("\n".join(lines))
        return ExitCode.OK if is_any else ExitCode.USAGE
    if link is None or not command:
        raise UsageError(
            "emulate needs a link and a command: for example "
            "tinygram emulate wifi -- sh -c 'ping -c 3 $TINYGRAM_FAR'"
        )
    between("--seed", seed, 0, (1 << 63) - 1)
    if congestion_control is not None:
        check_congestion_control(congestion_control)
    spec = parse_link(link)
    backend = backend_of(spec, link_backend)
    if far is not None:
        check_command("--far", far)
    if shutil.which(command[0]) is None:
        raise UsageError(
            f"the command {command[0]!r} is not a program that exists here: name one in PATH, or "
            "give its path"
        )
    if spec.is_loopback:
        raise UsageError("loopback has no far host: name another link, for example veth or wifi")
    prepare([spec], link_backend)
    try:
        with cores_awake():
            return run_over(
                *(spec, backend, seed, command, shlex.split(far or "")),
                congestion_control=congestion_control,
                is_quiet=quiet,
            )
    except RunError as failure:
        print(f"tinygram: {failure}", file=sys.stderr)
        return ExitCode.RUN_FAILED
