"""The command `tinygram`: one module per subcommand, registered in app.py.

Law: an error that the user can mend is one line on stderr, `tinygram: error: …`, and exit code 2; a
traceback means a fault of tinygram. This module imports no third-party package, since it must run
without the extra `bench` to say that the extra is missing.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
from typing import TextIO

from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.plain_text import (
    LINES,
    printable,
    wants_ascii,
    write_any_name,
    write_ascii,
)
from tinygram_bench.processes.importing import importing


def main() -> None:
    """Run the command line and exit with one of `ExitCode`."""
    for stream in (sys.stdout, sys.stderr):
        if wants_ascii(os.environ):
            write_ascii(stream)
        else:
            write_any_name(stream)
    try:
        code = _run_and_tell(sys.argv[1:])
    except OSError as error:
        code = _tell_output_failed(error)
    sys.exit(code)


def _run_and_tell(arguments: list[str]) -> int:
    try:
        code = _run(arguments)
        if sys.stdout is not None:
            # Flush now: at interpreter exit, a full disk would lead to a traceback and status 120.
            sys.stdout.flush()
    except UsageError as error:
        # The message may quote a file from anybody, with control characters.
        print(f"tinygram: error: {printable(str(error), kept=LINES)}", file=sys.stderr)
        return ExitCode.USAGE
    except KeyboardInterrupt:
        print("tinygram: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED
    return code


def _run(arguments: list[str]) -> int:
    try:
        return _run_subcommand(arguments)
    except ModuleNotFoundError as error:
        raise _missing_extra(error) from error


def _run_subcommand(arguments: list[str]) -> int:
    """Run a subcommand, which may return its exit code or raise typer.Exit."""
    with importing():
        import typer

        from tinygram_bench.cli.app import app

    command = typer.main.get_command(app)
    try:
        # Do not call app(): it would swallow every broken pipe and exit with 1, as if a run had
        # failed.
        with command.make_context("tinygram", arguments) as context:
            return command.invoke(context) or ExitCode.OK
    except typer.Exit as exit_request:
        return exit_request.exit_code
    except typer.TyperException as error:
        if type(error) is typer.BadParameter and error.param is not None:
            raise UsageError(f"{error.param.opts[0]}: {error.message}") from error
        failed = getattr(error, "ctx", None)
        path = failed.command_path if failed else "tinygram"
        fault = error.format_message().rstrip(".")
        raise UsageError(f"{fault}; see `{path} --help`") from error


def _missing_extra(error: ModuleNotFoundError) -> Exception:
    package = (error.name or "").partition(".")[0]
    if package in ("tinygram", "tinygram_bench") or package in sys.stdlib_module_names:
        return error
    return UsageError(
        f"the Python package {package!r}, which the bench needs, is missing: "
        "pip install 'tinygram[bench]'"
    )


def _tell_output_failed(error: OSError) -> int:
    """The exit code when our own output could not be written. Raises any other OSError."""
    if error.errno in (errno.EPIPE, errno.EIO) and _reader_left():
        _discard(sys.stdout, sys.stderr)
        return ExitCode.INTERRUPTED if error.errno == errno.EIO else _end_by_broken_pipe()
    if error.errno == errno.ENOSPC:
        _discard(sys.stdout)
        print(
            "tinygram: error: cannot write the output: the disk is full; make room, or send it "
            "elsewhere",
            file=sys.stderr,
        )
    else:
        raise error
    return ExitCode.USAGE


def _end_by_broken_pipe() -> int:
    """End like a program that leaves SIGPIPE alone; a shell reports this as status 141.

    Python ignores the signal, so that a broken pipe to a worker is an exception. PID 1 of a
    namespace cannot end itself by a signal; it returns that status instead.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)
    return 128 + signal.SIGPIPE


def _reader_left() -> bool:
    """Whether the program that our output is piped into has ended, or the terminal is closed."""
    poll = select.poll()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            poll.register(stream, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _discard(*streams: TextIO | None) -> None:
    """Discard what is still buffered; otherwise the interpreter's last flush would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        if stream is not None:
            os.dup2(nowhere, stream.fileno())
