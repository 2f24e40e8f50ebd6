"""What is watched: a port, or a process."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from tinygram_bench.model.errors import UsageError

MAX_PORT = (1 << 16) - 1
MAX_PID = 1 << 22
"""PID_MAX_LIMIT of Linux."""

_TARGET = re.compile(r"(?P<kind>:|pid:|)(?P<number>[0-9]{1,10})", re.ASCII)
_HELP = "write a port (:8080), a process (pid:1234), or the number alone where it is one of them"


class Target(Struct, frozen=True):
    """A port or a process; the other one is None."""

    port: int | None = None
    pid: int | None = None

    def __str__(self) -> str:
        return f"process {self.pid}" if self.port is None else f"port {self.port}"


def parse_target(text: str, is_port_here: Callable[[int], bool]) -> Target:
    """Read a target, written as `8080`, `:8080` or `pid:8080`.

    A bare number is a port if a socket has it (`is_port_here`), or the process of that number.
    Raises UsageError when it is neither, both, or out of range.
    """
    match = _TARGET.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is neither a port nor a process: {_HELP}")
    number = int(match["number"])
    if match["kind"] == ":":
        return _port(number)
    if match["kind"] == "pid:":
        return _process(number)
    is_port = 1 <= number <= MAX_PORT and is_port_here(number)
    if is_port and _is_process(number):
        raise UsageError(
            f"{number} is both a port in use and a process: write :{number} for the port, "
            f"pid:{number} for the process"
        )
    if is_port:
        return _port(number)
    if _is_process(number):
        return _process(number)
    raise UsageError(
        f"no socket has port {number}, and there is no process {number}: start it first, or write "
        f":{number} to wait for the port"
    )


def _port(number: int) -> Target:
    if not 1 <= number <= MAX_PORT:
        raise UsageError(f"the port {number} is outside 1 … {MAX_PORT}")
    return Target(port=number)


def _process(number: int) -> Target:
    if not _is_process(number):
        raise UsageError(f"there is no process {number}: name a running one, as ps shows it")
    return Target(pid=number)


def _is_process(number: int) -> bool:
    return 1 <= number <= MAX_PID and Path(f"/proc/{number}").exists()
