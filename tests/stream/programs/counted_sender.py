"""The sending process itself; at its end it also says what was counted, where and since when.

`counted_sender BYTES` bounds the connection's send buffer; 0 leaves it to the kernel.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from unittest import mock

from tinygram_bench import _native
from tinygram_bench.host.probes.usage import Mark
from tinygram_bench.workloads.stream import meeting, sender
from tinygram_bench.workloads.stream.meeting import Met
from tinygram_bench.workloads.stream.order import Order
from tinygram_bench.workloads.stream.sending import counting


def main() -> int:
    """The sender's own, but the last line on stderr is JSON: `fds`, `connected_ns`, `counts`."""
    send_buffer_bytes = int(sys.argv[1])
    told: dict[str, object] = {}

    def met(order: Order, announce: Callable[[int], None]) -> Met:
        found = meeting.met(order, announce)
        if send_buffer_bytes:
            for sock in found.sockets:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
        told.update(connected_ns=time.monotonic_ns())
        return found

    def marked(probes: Sequence[socket.socket], *arguments: Any) -> Mark:
        # Once the warm-up is sent all descriptors of the connection are there.
        told.setdefault("fds", descriptors_of(probes[0]))
        return Mark.at_start(probes, *arguments)

    with (
        mock.patch.object(sender, "met", met),
        mock.patch.object(counting, "Mark", mock.Mock(at_start=marked, at_end=Mark.at_end)),
    ):
        status = sender.main()
    print(json.dumps(told | {"counts": _native.write_counts()}), file=sys.stderr)
    return status


def descriptors_of(sock: socket.socket) -> list[int]:
    """Every descriptor of this process that is of this connection."""
    own = os.fstat(sock.fileno())
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if os.path.samestat(os.fstat(int(name)), own):
                found.append(int(name))
    return found


if __name__ == "__main__":
    sys.exit(main())
