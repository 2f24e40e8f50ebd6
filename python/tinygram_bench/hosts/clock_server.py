"""The process that tells the far host's time, `tg-clock`: a byte comes, and the time goes back.

It takes a `ClockOrder`, answers where it listens, accepts one connection whose first bytes are the
token, and answers each byte with CLOCK_MONOTONIC in ns, a little-endian u64.
"""

from __future__ import annotations

import hmac
import socket
import struct
import sys
import time

from tinygram_bench.model.value import Value
from tinygram_bench.processes.orders import Orders, carry_out

TOKEN_BYTES = 16
_PATIENCE_S = 5.0
TIME = struct.Struct("<Q")


class ClockOrder(Value, frozen=True):
    """The order for the clock. `host`: where it listens; the server fills that in."""

    token: bytes
    host: str = "127.0.0.1"


def main() -> int:
    return carry_out("tg-clock", ClockOrder, _tell_time)


def _tell_time(order: ClockOrder, orders: Orders) -> None:
    with socket.create_server((order.host, 0), backlog=8) as listener:
        orders.announce(listener.getsockname()[1])
        sock = _with_token(listener, order.token)
    with sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(None)
        while sock.recv(1):
            sock.sendall(TIME.pack(time.monotonic_ns()))


def _with_token(listener: socket.socket, token: bytes) -> socket.socket:
    """The first connection that begins with the token."""
    while True:
        sock, _ = listener.accept()
        sock.settimeout(_PATIENCE_S)
        try:
            if hmac.compare_digest(sock.recv(TOKEN_BYTES, socket.MSG_WAITALL), token):
                return sock
        except OSError:
            pass
        sock.close()


if __name__ == "__main__":
    sys.exit(main())
