"""What the client of the servers can do at all: `plain_server`.

It answers a read with one write of as many bytes, and so costs the client's other end next to
nothing.
"""

from __future__ import annotations

import selectors
import socket
import sys

from library.baton import Role, run_side
from library.sides.sending import REPLY, listening

from tinygram_bench.processes.orders import Orders

_READ_BYTES = 64 << 10
_REPLIES = memoryview(REPLY * (_READ_BYTES // len(REPLY) + 1))


def main() -> int:
    return run_side(_serve)


def _serve(_role: Role, orders: Orders) -> None:
    server = listening()
    waiting = selectors.EpollSelector()
    waiting.register(server, selectors.EVENT_READ)
    orders.announce(server.getsockname()[1])
    while True:
        for key, _ in waiting.select():
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            if sock is server:
                waiting.register(server.accept()[0], selectors.EVENT_READ)
            elif requests := sock.recv(_READ_BYTES):
                sock.sendall(_REPLIES[: len(requests)])
            else:
                waiting.unregister(sock)
                sock.close()


if __name__ == "__main__":
    sys.exit(main())
