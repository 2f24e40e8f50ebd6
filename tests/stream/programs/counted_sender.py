"""The sending process itself; at its end it also says what was counted, where and since when.

`counted_sender BYTES` bounds the connection's send buffer; 0 leaves it to the kernel.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from unittest import mock

from tinygram import _native
from tinygram.bench.workloads.stream import sender
from tinygram.bench.workloads.stream.order import Order


def main() -> int:
    """As the sender's; the last line on stderr is a JSON object: `fd`, `connected_ns`, `counts`."""
    connect = sender._connect
    send_buffer_bytes = int(sys.argv[1])
    told: dict[str, object] = {}

    def connected(order: Order) -> tuple[socket.socket, int]:
        sock, connect_ns = connect(order)
        if send_buffer_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
        told.update(fd=sock.fileno(), connected_ns=time.monotonic_ns())
        return sock, connect_ns

    with mock.patch.object(sender, "_connect", connected):
        status = sender.main()
    print(json.dumps(told | {"counts": _native.write_counts()}), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
