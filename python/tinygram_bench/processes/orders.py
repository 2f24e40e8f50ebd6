"""The channel of a process of ours, seen from inside: orders come, and answers go, in JSON.

Each is one line. The first line is a `Place`. Then come orders, one after the other, until the
channel ends: a process that has carried one out waits for the next. A failure is told by the last
line on stderr, and exit status 1.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from typing import Annotated, TypeVar

import msgspec

from tinygram_bench.model.value import Value
from tinygram_bench.processes.attached import settle

_READ_BYTES = 1 << 16
_FAILURES: tuple[type[Exception], ...] = (OSError, EOFError, MemoryError, ExceptionGroup)

T = TypeVar("T")


class Place(Value, frozen=True):
    """The process with which this one dies, and the core on which it stays (None: any)."""

    parent_pid: int
    cpu: int | None


class Listening(Value, frozen=True):
    """A server's answer as soon as clients may connect.

    `certificate`: the one that it shows, PEM; None: it does not encrypt.
    """

    port: Annotated[int, msgspec.Meta(ge=1, lt=1 << 16)]
    certificate: str | None = None


class Ready(Value, frozen=True):
    """A client's answer when it has connected and warmed up, and waits for the start."""


class Go(Value, frozen=True):
    """The order to a client to start now."""


class Arrived(Value, frozen=True):
    """Told by a receiver that decrypts, and then to its sender: the whole warm-up has arrived.

    The kernel tells a sender that its ciphertext has arrived, but not how much plaintext it was.
    """


class Start(Value, frozen=True):
    """The order to a process of a case that takes turns: when the first cycle begins.

    It is sent when all are ready. `at_ns`: CLOCK_MONOTONIC, in nanoseconds.
    """

    at_ns: int


class End(Value, frozen=True):
    """The order to end this run; also the answer of a process with nothing else to tell."""


class Orders:
    """This process's end of its channel: standard input and output, used by nothing else."""

    def __init__(self) -> None:
        self._received = b""

    def hear(self, kind: type[T]) -> T | None:
        """The next line, decoded; None when the channel has ended."""
        while b"\n" not in self._received:
            chunk = os.read(0, _READ_BYTES)
            if not chunk:
                return None
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        return msgspec.json.decode(line, type=kind)

    def say(self, answer: object) -> None:
        """Send an answer. Raises OSError when the other end is gone."""
        left = memoryview(msgspec.json.encode(answer) + b"\n")
        while left:
            left = left[os.write(1, left) :]

    def announce(self, port: int, certificate: str | None = None) -> None:
        """Tell the port on which this server listens, and the certificate that it shows."""
        self.say(Listening(port, certificate))

    def has_line(self) -> bool:
        """Whether there is something to hear, or the channel has ended, without waiting."""
        return b"\n" in self._received or bool(select.select([self], [], [], 0)[0])

    def fileno(self) -> int:
        """Readable when the next line has come, or the channel has ended."""
        return 0


def leave(fd: int, data: bytes) -> None:
    """Write `data` to the file, in place of its earlier contents."""
    with open(fd, "wb", closefd=False) as file:
        file.truncate(0)
        file.seek(0)
        file.write(data)


def carry_out(
    process_name: str,
    kind: type[T],
    act: Callable[[T, Orders], None],
    failures: tuple[type[Exception], ...] = (),
) -> int:
    """Serve the channel until it ends: `act` carries out an order, and answers.

    `failures`: more exceptions that end the process with a message instead of a traceback. Returns
    the exit status, 0.
    """
    # The library that counts writes is for this process, and not for processes that it starts.
    os.environ.pop("LD_PRELOAD", None)
    orders = Orders()
    place = orders.hear(Place)
    if place is None:
        return 0
    settle(process_name, place.parent_pid, place.cpu)
    try:
        while (order := orders.hear(kind)) is not None:
            act(order, orders)
    except (*_FAILURES, *failures) as failure:
        print(_described(failure, failures), file=sys.stderr, flush=True)
        # Exit at once: during the interpreter's normal exit, tasks might print after the failure.
        os._exit(1)
    return 0


def _described(failure: Exception, own: tuple[type[Exception], ...]) -> str:
    """The failure's message, with its type unless it is one of `own`.

    For a group of tasks, it is that of the first failure, which caused the others.
    """
    while isinstance(failure, ExceptionGroup):
        failure = failure.exceptions[0]
    if isinstance(failure, own) or (type(failure) is OSError and failure.errno is None):
        return str(failure)
    return ": ".join(filter(None, (type(failure).__name__, str(failure))))
