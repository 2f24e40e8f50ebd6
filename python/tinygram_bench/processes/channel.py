"""A worker that is spoken to in lines, of JSON mostly, as long as it lives."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack

from tinygram_bench.processes.workers import RunError, Worker

_GRACE_S = 5.0
_READ_BYTES = 1 << 20


class LineWorker:
    """A worker that answers lines on a channel; ended at the `ExitStack`'s end."""

    def __init__(
        self,
        stack: ExitStack,
        role: str,
        command: Sequence[str],
        environment: dict[str, str] | None,
        pass_fds: Sequence[int],
    ) -> None:
        """Start it. Raises RunError."""
        ours, theirs = socket.socketpair()
        stack.callback(ours.close)
        with theirs:
            self.worker = stack.enter_context(
                Worker(
                    role,
                    command,
                    channel=theirs.fileno(),
                    environment=environment,
                    pass_fds=pass_fds,
                )
            )
        self._channel = ours
        self._received = b""

    def tell(self, line: bytes) -> None:
        """Hand it a line. Raises RunError."""
        try:
            self._channel.sendall(line + b"\n")
        except OSError as error:
            self.worker.wait_ended(_GRACE_S)
            failure = self.worker.failure or f"the {self.worker.role} takes nothing: {error}"
            raise RunError(failure) from error

    def take_line(self) -> bytes | None:
        """The next line, if it has been said."""
        line, newline, rest = self._received.partition(b"\n")
        if not newline:
            return None
        self._received = rest
        return line

    def read(self) -> bool:
        """Take what it has said; False when it says nothing more."""
        try:
            said = self._channel.recv(_READ_BYTES)
        except ConnectionResetError:  # It ended with something unread.
            return False
        self._received += said
        return bool(said)

    def fileno(self) -> int:
        """The channel's end: readable when there is something to `read`."""
        return self._channel.fileno()

    def let_go(self) -> None:
        """Close the channel: who was given `fileno` may speak with it from now on."""
        self._channel.close()


def wait_lines(
    of: Sequence[LineWorker],
    give_up_s: float,
    late: str = "did not finish in time",
    beside: Sequence[LineWorker] = (),
) -> list[bytes]:
    """The next line of each, as soon as all have said one; asleep until then.

    Raises RunError when a silent one, or one of those beside, ends; and at `give_up_s`
    (CLOCK_MONOTONIC), when it says that the silent ones are `late`.
    """
    said: dict[LineWorker, bytes] = {}
    while True:
        for worker in of:
            if worker not in said and (line := worker.take_line()) is not None:
                said[worker] = line
        silent = [worker for worker in of if worker not in said]
        if not silent:
            return [said[worker] for worker in of]
        ready = _readable([*silent, *beside], give_up_s)
        if not ready:
            roles = " and the ".join(worker.worker.role for worker in silent)
            raise RunError(f"the {roles} {late}")
        if not all(worker.read() for worker in ready):
            raise RunError(_failure([*of, *beside]))


def _readable(workers: Sequence[LineWorker], give_up_s: float) -> list[LineWorker]:
    poll = select.poll()
    for worker in workers:
        poll.register(worker.fileno(), select.POLLIN)
    ready = {fd for fd, _ in poll.poll(max(0.0, give_up_s - time.monotonic()) * 1000)}
    return [worker for worker in workers if worker.fileno() in ready]


def _failure(workers: Sequence[LineWorker]) -> str:
    """Why one of them ended; the others may say why, too."""
    give_up_s = time.monotonic() + _GRACE_S
    for worker in workers:
        worker.worker.wait_ended(give_up_s - time.monotonic())
    failures = [worker.worker.failure for worker in workers]
    return "; ".join(failure for failure in failures if failure) or "a process ended early"
