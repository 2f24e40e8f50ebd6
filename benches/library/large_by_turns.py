"""Large messages on two event loops: `python -m library.large_by_turns LOOP ROUNDS SIZE…`.

LOOP is asyncio or uvloop, as it is and as tinygram's drop-in over it, each with a connection of its
own to a plain reader on the other core. A slice is write and drain of some messages, from the first
write until the reader tells that it has them all; each round has two slices of a size, one on each
loop, whichever comes first by chance. Prints a JSON list per slice: side, size, ns, CPU ns.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import time
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from library.sides.sending import connected, new_loop, settle, stay_on_core, stay_on_far_core
from pairs import side_by_side

SIDES = ("directly", "tinygram")
_SLICE_BYTES = 8 << 20
_FEWEST_MESSAGES = 4
_READ_BYTES = 1 << 20


def messages_of(size: int) -> int:
    """How many messages of a size make a slice."""
    return max(_FEWEST_MESSAGES, _SLICE_BYTES // size)


@dataclass(frozen=True)
class Side:
    name: str
    loop: asyncio.AbstractEventLoop
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def take(self, message: bytes) -> list[object]:
        count = messages_of(len(message))
        took_ns, cpu_ns = self.loop.run_until_complete(self._write(message, count))
        return [self.name, len(message), took_ns, cpu_ns]

    async def _write(self, message: bytes, count: int) -> tuple[int, int]:
        write, drain = self.writer.write, self.writer.drain
        cpu_ns, start_ns = time.thread_time_ns(), time.monotonic_ns()
        for _ in range(count):
            write(message)
            await drain()
        await self.reader.readexactly(1)
        return time.monotonic_ns() - start_ns, time.thread_time_ns() - cpu_ns


def main() -> None:
    name, rounds, *words = sys.argv[1:]
    sizes = [int(word) for word in words]
    ours, theirs = socket.socketpair()
    with ours:
        # One more round warms up.
        told = (theirs, sizes, 1 + int(rounds))
        reading = get_context("fork").Process(target=_read, args=told, daemon=True)
        reading.start()
        theirs.close()
        stay_on_core()
        port = int(ours.recv(16))
        sides = [_side(name, side, port) for side in SIDES]
        messages = [bytes([number % 251 for number in range(size)]) for size in sizes]
        settle()
        for message in messages:
            takes = {side.name: partial(side.take, message) for side in sides}
            for slices in side_by_side(takes, int(rounds)).values():
                for slice in slices:
                    print(json.dumps(slice))


def _side(name: str, side: str, port: int) -> Side:
    loop = new_loop(name, side == "tinygram")
    reader, writer = loop.run_until_complete(_connected(port))
    return Side(side, loop, reader, writer)


async def _connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(sock=connected(port))


def _read(teller: socket.socket, sizes: list[int], rounds: int) -> None:
    stay_on_far_core()
    with socket.create_server(("127.0.0.1", 0)) as sock:
        teller.sendall(b"%d" % sock.getsockname()[1])
        socks = [sock.accept()[0] for _ in SIDES]
    threads = [threading.Thread(target=_read_slices, args=(sock, sizes, rounds)) for sock in socks]
    for thread in threads:
        thread.start()


def _read_slices(sock: socket.socket, sizes: list[int], rounds: int) -> None:
    buffer = bytearray(_READ_BYTES)
    for size in sizes:
        for _ in range(rounds):
            left = size * messages_of(size)
            while left:
                read_bytes = sock.recv_into(buffer, min(left, _READ_BYTES))
                if not read_bytes:
                    return
                left -= read_bytes
            sock.sendall(b".")


if __name__ == "__main__":
    main()
