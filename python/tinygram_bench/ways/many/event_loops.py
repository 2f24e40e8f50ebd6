"""One event loop that writes each message on its connection's transport."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from tinygram_bench.loads.source import AsyncSource, Source
from tinygram_bench.ways.many.ends import End, Ends
from tinygram_bench.ways.runtimes import PATIENCE_NS, Way


def run(make_loop: Callable[[], asyncio.AbstractEventLoop], source: Source, way: Way) -> None:
    """Send everything. Raises OSError where a connection is lost or takes nothing."""
    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(_send(source, way))


async def _send(source: Source, way: Way) -> None:
    loop = asyncio.get_running_loop()
    ends = Ends("receiver")
    for number, sock in enumerate(way.sockets):
        transport, _ = await loop.create_connection(partial(End, number, ends), sock=sock)
        ends.transports.append(transport)
    way.watch_writes()
    writes = [transport.write for transport in ends.transports]
    messages = AsyncSource(source)
    number, count = 0, len(writes)
    while (burst := await messages.next_burst()) is not None:
        for message in burst:
            writes[number](message)
            number += 1
            if number == count:
                number = 0
        await ends.handed_over(PATIENCE_NS)
    await ends.emptied(PATIENCE_NS)
    way.on_handed_over()
    await ends.close()
