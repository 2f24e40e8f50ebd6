"""A reader that is slower than the writer: `drain` waits for it, and memory stays bounded.

`max_buffered_bytes` bounds what is held for a peer that takes nothing. Who awaits `drain` after
each message is paused before that; who does not gets a BufferError: that message was not taken.
"""

from __future__ import annotations

import asyncio
import socket

import tinygram

TOTAL_BYTES, BOUND_BYTES = 4 << 20, 100_000


async def read_slowly(peer: socket.socket) -> int:
    """Take a little at a time, up to the end of the stream."""
    loop = asyncio.get_running_loop()
    count = 0
    while data := await loop.sock_recv(peer, 100_000):
        count += len(data)
        await asyncio.sleep(0.001)
    return count


async def main() -> None:
    """First without waiting, then with."""
    ours, peer = socket.socketpair()
    peer.setblocking(False)
    _, writer = await tinygram.open_connection(sock=ours, max_buffered_bytes=BOUND_BYTES)
    sent = 0
    try:
        while True:
            writer.write(bytes(1000))
            sent += 1000
    except BufferError as error:
        print(f"refused: {'max_buffered_bytes' in str(error)}")
    reading = asyncio.create_task(read_slowly(peer))
    while sent < TOTAL_BYTES:
        await writer.drain()
        writer.write(bytes(1000))
        sent += 1000
    writer.close()
    print(f"all arrived: {await reading == sent}")
    peer.close()


if __name__ == "__main__":
    asyncio.run(main())
