"""The other end: `python -m library.sides.far_ends echo ENDS` or `… tls PEM COUNT`.

`echo` returns what it reads, with plain blocking calls; ENDS is apart, for the receiver's core, or
same, for the sender's. `tls`, always on the receiver's core, decrypts with OpenSSL, through
Python's `ssl`, a record per read; it counts the bytes and prints when the last came, and unlike
tinygram's own receiver it does not compare them.
"""

from __future__ import annotations

import socket
import ssl
import sys
import time

from library.sides.sending import MESSAGE_BYTES, WARM_UP, listening, stay_on_far_core

_READ_BYTES = 256 << 10


def main() -> None:
    match sys.argv[1:]:
        case ["echo", ends]:
            stay_on_far_core(ends)
            _echo(listening().accept()[0])
        case ["tls", pem, count]:
            stay_on_far_core()
            _read_all(listening().accept()[0], pem, int(count))


def _echo(sock: socket.socket) -> None:
    while data := sock.recv(_READ_BYTES):
        sock.sendall(data)


def _read_all(sock: socket.socket, pem: str, count: int) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    left_bytes = (WARM_UP + count) * MESSAGE_BYTES
    buffer = bytearray(_READ_BYTES)
    with context.wrap_socket(sock, server_side=True) as stream:
        while left_bytes:
            read_bytes = stream.recv_into(buffer)
            if not read_bytes:
                raise SystemExit(f"{left_bytes} bytes never came")
            left_bytes -= read_bytes
        print(time.monotonic_ns(), flush=True)
        stream.recv_into(buffer)


if __name__ == "__main__":
    main()
