"""The other end: `far_ends echo ENDS` or `far_ends tls PEM`.

`echo` returns what it reads, with plain blocking calls. `tls` decrypts with OpenSSL, through
Python's `ssl`, a record per read; it leaves a note for each, as tinygram's own receiver does
(pairs of u64: bytes so far, CLOCK_MONOTONIC in ns), and unlike that it does not compare the bytes.
"""

from __future__ import annotations

import socket
import ssl
import sys
import time
from array import array

from library.baton import Role, run_side
from library.sides.sending import listening

from tinygram_bench.processes.orders import Orders

_READ_BYTES = 256 << 10


def main() -> int:
    return run_side(_serve)


def _serve(role: Role, orders: Orders) -> None:
    server = listening()
    orders.announce(server.getsockname()[1])
    sock = server.accept()[0]
    match role.words:
        case ("echo", _):
            _echo(sock)
        case ("tls", pem):
            with open(role.notes_fd, "wb", closefd=False) as file:
                _read_all(sock, pem).tofile(file)
    orders.say({})


def _echo(sock: socket.socket) -> None:
    while data := sock.recv(_READ_BYTES):
        sock.sendall(data)


def _read_all(sock: socket.socket, pem: str) -> array[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    notes = array("Q")
    total_bytes = 0
    buffer = bytearray(_READ_BYTES)
    with context.wrap_socket(sock, server_side=True) as stream:
        while read_bytes := stream.recv_into(buffer):
            at_ns = time.monotonic_ns()
            total_bytes += read_bytes
            notes.extend((total_bytes, at_ns))
    return notes


if __name__ == "__main__":
    sys.exit(main())
