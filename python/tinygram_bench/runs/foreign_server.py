"""Checks that a server that is not ours answers at all, by one call before the first round.

Law: only whether an answer comes is judged here; the runs tell what is wrong with it.
"""

from __future__ import annotations

import os
import select
import socket

from tinygram_bench.host.network import Network
from tinygram_bench.model.errors import UsageError
from tinygram_bench.processes.workers import RunError

ANSWER_LIMIT_S = 5.0
"""How long a server may take to accept a connection, and how long it may be silent after that."""
_READ_BYTES = 1 << 16
_HERE = Network()


def answer_limit_s(timeout_ns: int) -> float:
    """How long to wait for each answer where a run may take `timeout_ns`, in seconds."""
    return min(ANSWER_LIMIT_S, timeout_ns / 1e9)


def unanswered(server: str, failure: Exception) -> UsageError:
    """The error for a server that does not answer, named as the user did."""
    return UsageError(
        f"{server}: {failure}; nothing was measured: check that it listens there and answers"
    )


def call_once(
    address: tuple[str, int], call: bytes, answer_bytes: int, limit_s: float, host: Network = _HERE
) -> None:
    """Connect from `host`, send `call`, and read `answer_bytes` bytes, whatever they are.

    With `answer_bytes` 0, only the end of the connection is awaited. A server that ends the
    connection early has answered. Raises RunError where connecting fails or takes more than
    `limit_s`, or where the server is silent for so long.
    """
    with host.entered():
        # A socket stays in the network in which it was made.
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with sock:
        _connect(sock, address, limit_s)
        sock.setblocking(False)
        left = memoryview(call)
        received = 0
        while True:
            ready = _ready(sock, select.POLLIN | (select.POLLOUT if left else 0), limit_s)
            if not ready:
                raise RunError(_silence(received, answer_bytes, limit_s, has_asked=not left))
            try:
                if ready & ~select.POLLOUT:
                    count = len(sock.recv(_READ_BYTES))
                    received += count
                    if not count or received >= answer_bytes:
                        return
                else:
                    left = left[sock.send(left) :]
                    if not (left or answer_bytes):
                        sock.shutdown(socket.SHUT_WR)
            except OSError:  # Most likely a reset: the server has ended the connection.
                return


def _connect(sock: socket.socket, address: tuple[str, int], limit_s: float) -> None:
    sock.settimeout(limit_s)
    try:
        sock.connect(address)
    except TimeoutError as error:
        raise RunError(f"it did not accept a connection within {limit_s:g} s") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise RunError(f"connecting failed: {reason}") from error


def _ready(sock: socket.socket, events: int, limit_s: float) -> int:
    """The events of `poll(2)` that came, errors included; 0: none within `limit_s`."""
    poll = select.poll()
    poll.register(sock, events)
    found = poll.poll(limit_s * 1000)
    return found[0][1] if found else 0


def _silence(received: int, answer_bytes: int, limit_s: float, *, has_asked: bool) -> str:
    if not has_asked:
        return f"it accepted a connection, and read nothing of what was sent for {limit_s:g} s"
    if not answer_bytes:
        return f"it did not close its end of a connection within {limit_s:g} s after ours"
    if not received:
        return f"it accepted a connection and what was sent, and answered nothing for {limit_s:g} s"
    return (
        f"its answer has {received} bytes where {answer_bytes} were expected, and no more came for "
        f"{limit_s:g} s"
    )
