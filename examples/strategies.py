"""The same hundred messages by each strategy, and what `stats()` tells of them.

`nodelay` and `nagle` write each message; `tick` writes once when the event loop's iteration ends;
`adaptive` writes the first at once, if it comes alone, and then as `tick` or later; `coalesce`
holds them for as long as it is told, here until `max_bytes` have gathered; `competitive` until all
together have waited for as long as a write is worth, here a minute.
"""

from __future__ import annotations

import asyncio
import socket

import tinygram

COUNT, MESSAGE = 100, b"0123456789"


async def send_with(strategy: tinygram.Strategy) -> tinygram.Stats:
    """Send the messages within one iteration, and wait until all have arrived."""
    ours, peer = socket.socketpair()
    with peer:
        peer.setblocking(False)
        _, writer = await tinygram.open_connection(sock=ours, strategy=strategy, max_bytes=500)
        for _ in range(COUNT):
            writer.write(MESSAGE)
        left = COUNT * len(MESSAGE)
        while left:
            left -= len(await asyncio.get_running_loop().sock_recv(peer, left))
        transport = writer.transport
        assert isinstance(transport, tinygram.Transport)
        writer.close()
        return transport.stats()


async def main() -> None:
    """One line for each."""
    for strategy in (
        tinygram.nodelay,
        tinygram.nagle,
        tinygram.tick,
        tinygram.adaptive,
        tinygram.coalesce(1_000_000),
        tinygram.competitive(60_000_000),
    ):
        stats = await send_with(strategy)
        reasons = ", ".join(f"{count} {name}" for name, count in stats.flushes.items() if count)
        print(f"{strategy}: {stats.messages} messages in {stats.writes} writes ({reasons})")


if __name__ == "__main__":
    asyncio.run(main())
