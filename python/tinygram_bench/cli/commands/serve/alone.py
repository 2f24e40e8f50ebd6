"""What the commands of `tinygram serve` share: a lone server, which runs until told to stop."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, NoReturn, Protocol, TypeVar

from tinygram_bench.cli import quantities
from tinygram_bench.cli.bounds import between
from tinygram_bench.host.network.settings import permitted_congestion_control
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import ALLOWED_SYSCTL, DEFAULT_CONGESTION_CONTROL

Port = Annotated[int, quantities.count("Port to listen on; 0 lets the kernel pick one.", "0")]


class Listening(Protocol):
    @property
    def port(self) -> int: ...


Server = TypeVar("Server", bound=Listening)


def serve_alone(
    port: int,
    asked_congestion_control: str | None,
    listen: Callable[[str], Server],
    serve: Callable[[Server, int], Iterable[tuple[str, int]]],
) -> NoReturn:
    """Let the server that `listen` makes serve until Ctrl-C or SIGTERM, then print its counters.

    `listen` gets the congestion control of the server's connections, which is CUBIC where none was
    asked for; if the kernel denies CUBIC, what takes its place is told on stderr. `serve` gets the
    server and a descriptor that becomes readable when the server is to stop, and returns the
    counters. Raises KeyboardInterrupt at the end, and UsageError where `port` is out of
    range, or it or the congestion control is not available.
    """
    between("--port", port, 0, (1 << 16) - 1)
    control = permitted_congestion_control(asked_congestion_control)
    try:
        server = listen(control)
    except OSError as error:
        raise UsageError(
            f"cannot listen on port {port}: {error.strerror or error}; name another one with --port"
        ) from error
    with _stopped_by_signal() as stop_fd:
        print(f"listening {server.port}", flush=True)
        if asked_congestion_control is None and control != DEFAULT_CONGESTION_CONTROL:
            print(
                f"tinygram: the connections have {control}: the kernel denies this user "
                f"{DEFAULT_CONGESTION_CONTROL} ({ALLOWED_SYSCTL})",
                file=sys.stderr,
            )
        counters = serve(server, stop_fd)
    for name, count in counters:
        if name == "strangers":
            continue  # Every client is served, so there are no strangers.
        print(f"{name.removeprefix('server_').replace('_', ' ')}: {count}", file=sys.stderr)
    raise KeyboardInterrupt


@contextmanager
def _stopped_by_signal() -> Iterator[int]:
    """A descriptor that becomes readable on Ctrl-C or SIGTERM, which have no other effect."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        woken = signal.set_wakeup_fd(theirs.fileno())
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, lambda *_: None) for number in numbers]
        try:
            yield ours.fileno()
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)
            signal.set_wakeup_fd(woken)
