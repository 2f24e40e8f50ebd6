"""A worker that serves one run after the other."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import ExitStack

from tinygram.bench.workers import RunError, Worker

_GRACE_S = 1.0
_READ_BYTES = 1 << 20


class WarmWorker:
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
        """Readable when there is something to `read`."""
        return self._channel.fileno()
