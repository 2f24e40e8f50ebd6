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

Message = bytes | bytearray

SMALL: list[Message] = [b"first ", bytearray(b"second "), b"third and last"]
LARGE: list[Message] = [b"held", b"L" * 70_000, b"between", bytearray(b"M" * 66_000), b"end"]
COPIED_BYTES = 16 << 10
"""A longer rest of a message is not copied."""


def small_cuts() -> Iterator[tuple[list[Message], list[int]]]:
    """Each cut point: by itself; followed by a kernel that is full; and by one byte at a time."""
    end = len(b"".join(SMALL))
    for at in range(end):
        for rest in ([], [0], [0, 1, 0, 0, 2], [1] * end):
            yield SMALL, [at, *rest]


def large_cuts() -> Iterator[tuple[list[Message], list[int]]]:
    """Around the points where a rest is another message's, or short enough to be copied."""
    for number in range(len(LARGE)):
        end = len(b"".join(LARGE[: number + 1]))
        for at in (end - COPIED_BYTES - 1, end - COPIED_BYTES, end - 1, end):
            for rest in ([], [0], [0, 1, 0, 30_000, 2]):
                if 0 <= at < len(b"".join(LARGE)):
                    yield LARGE, [at, *rest]


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
        for messages, takes in small_cuts():
            sent = b"".join(messages)
            with cutter.cutting(ours, takes):
                for message in messages:
                    out.send(message)
                out.flush()
                assert receive_exactly(peer, len(sent)) == sent, (strategy, takes)
            assert out.held_bytes == 0


async def send_with_loop(connect: Connector, cutter: Cutter, strategy: object) -> None:
    ours, peer = socket.socketpair()
    number = ours.fileno()
    _, writer = await connect.streams(ours)
    with socket.socket(fileno=number) as same, peer:
        for messages, takes in [*small_cuts(), *large_cuts()]:
            sent = b"".join(messages)
            with cutter.cutting(same, takes):
                for message in messages:
                    writer.write(message)
                    if len(takes) % 2:
                        await asyncio.sleep(0)
                assert await receive(peer, len(sent)) == sent, (strategy, takes)
            assert writer.transport.get_write_buffer_size() == 0
        same.detach()
        writer.close()


def main(name: str) -> None:
    """Do what the module says."""
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
