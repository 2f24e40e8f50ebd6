"""Sends the same bytes with their writes cut at every point; run with cut_writes.so preloaded.

Argument: the name of a set-up, or `batch`. Fails at the first cut after which other bytes arrive.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.library.setups import STRATEGIES, Connector, Setup, receive
from tests.library.wires import receive_exactly

import tinygram

MESSAGES: list[bytes | bytearray] = [b"first ", bytearray(b"second "), b"third and last"]
SENT = b"".join(MESSAGES)

# Each cut point: by itself; followed by a kernel that is full; and by one byte at a time.
CUTS = [
    [at, *rest] for at in range(len(SENT)) for rest in ([], [0], [0, 1, 0, 0, 2], [1] * len(SENT))
]


class Cutter:
    """The preloaded library's functions."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)

    @contextlib.contextmanager
    def cutting(self, sock: socket.socket, takes: list[int]) -> Iterator[None]:
        """Meanwhile writes to `sock` end short where `takes` says; at least one was cut."""
        array = (ctypes.c_long * len(takes))(*takes)
        self._library.cut_writes(sock.fileno(), array, len(takes))
        try:
            yield
            assert self._library.cuts() > 0, "no write was cut"
        finally:
            self._library.cut_writes(-1, None, 0)


def send_with_batch(cutter: Cutter, strategy: tinygram.Strategy) -> None:
    ours, peer = socket.socketpair()
    ours.settimeout(60)
    peer.settimeout(60)
    with ours, peer, tinygram.batch(ours, strategy=strategy) as out:
        for takes in CUTS:
            with cutter.cutting(ours, takes):
                for message in MESSAGES:
                    out.send(message)
                out.flush()
                assert receive_exactly(peer, len(SENT)) == SENT, (strategy, takes)
            assert out.held_bytes == 0


async def send_with_loop(connect: Connector, cutter: Cutter, strategy: object) -> None:
    ours, peer = socket.socketpair()
    number = ours.fileno()
    _, writer = await connect.streams(ours)
    with socket.socket(fileno=number) as same, peer:
        for takes in CUTS:
            with cutter.cutting(same, takes):
                for message in MESSAGES:
                    writer.write(message)
                    if len(takes) % 2:
                        await asyncio.sleep(0)
                assert await receive(peer, len(SENT)) == SENT, (strategy, takes)
            assert writer.transport.get_write_buffer_size() == 0
        same.detach()
        writer.close()


def main(name: str) -> None:
    """As the module says."""
    cutter = Cutter()
    for strategy in STRATEGIES.values():
        if name == "batch":
            send_with_batch(cutter, strategy)
        else:
            Setup(name).run(
                lambda connect, strategy=strategy: send_with_loop(connect, cutter, strategy),  # type: ignore[misc]
                strategy=strategy,
            )


if __name__ == "__main__":
    main(sys.argv[1])
