"""An echo server that is not the bench's, honest or not: `… echo PORT HOW [CONGESTION-CONTROL]`."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable

READ_BYTES = 1 << 16


def main() -> None:
    port, how = int(sys.argv[1]), sys.argv[2]
    if how == "never-listen":
        time.sleep(600)
    listener = socket.create_server((os.environ["TINYGRAM_FAR"], port), backlog=100)
    if len(sys.argv) > 3:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[3].encode())
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)
    served = 0
    while True:
        # One that spins asks without end.
        for key, _ in waiting.select(0 if how == "spinning" else None):
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            if sock is listener:
                waiting.register(listener.accept()[0], selectors.EVENT_READ)
                continue
            data = sock.recv(READ_BYTES)
            if not data:
                waiting.unregister(sock)
                sock.close()
                continue
            served += 1
            WAYS[how](sock, data, served)


def _altered(sock: socket.socket, data: bytes, served: int) -> None:
    """One byte of one reply has one bit changed."""
    sock.sendall(data[:-1] + bytes([data[-1] ^ 1]) if served == 50 else data)


def _short(sock: socket.socket, data: bytes, served: int) -> None:
    """One byte is swallowed, and the next message's first one would come in its place."""
    sock.sendall(data[:-1] if served == 50 else data)


def _doubled(sock: socket.socket, data: bytes, served: int) -> None:
    sock.sendall(data * 2 if served == 50 else data)


def _hang_up(sock: socket.socket, data: bytes, served: int) -> None:
    if served == 50:
        sock.shutdown(socket.SHUT_RDWR)
    else:
        sock.sendall(data)


def _die(sock: socket.socket, data: bytes, served: int) -> None:
    if served == 50:
        os.kill(os.getpid(), signal.SIGKILL)
    sock.sendall(data)


def _whole_buffer(sock: socket.socket, data: bytes, _served: int) -> None:
    sock.sendall(data.ljust(READ_BYTES, b"\0"))


WAYS: dict[str, Callable[[socket.socket, bytes, int], None]] = {
    "honest": lambda sock, data, _: sock.sendall(data),
    "spinning": lambda sock, data, _: sock.sendall(data),
    "silent": lambda sock, data, served: sock.sendall(data) if served < 50 else None,
    "constant": lambda sock, data, _: sock.sendall(b"x" * len(data)),
    "altered": _altered,
    "short": _short,
    "doubled": _doubled,
    "hang-up": _hang_up,
    "die": _die,
    "whole-buffer": _whole_buffer,
}


if __name__ == "__main__":
    main()
