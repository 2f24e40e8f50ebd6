"""One event loop that writes each message on its connection's transport."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tinygram_bench.loads.async_source import AsyncSource
from tinygram_bench.loads.source import Source
from tinygram_bench.ways.many.ends import MOST_WAITING_BYTES, End, Ends
from tinygram_bench.ways.runtimes import PATIENCE_NS, Way


def run(make_loop: Callable[[], asyncio.AbstractEventLoop], source: Source, way: Way) -> None:
    """Send everything. Raises OSError where a connection is lost or takes nothing."""
    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(_send(source, way))


async def _send(source: Source, way: Way) -> None:
    loop = asyncio.get_running_loop()
    ends = Ends("receiver", len(way.sockets))
    for number, sock in enumerate(way.sockets):
        transport, _ = await loop.create_connection(partial(End, number, ends), sock=sock)
        ends.add(transport)
    way.watch_writes()
    writes = [transport.write for transport in ends.transports]
    messages = AsyncSource(source)
    most = max(1, MOST_WAITING_BYTES // source.largest_bytes)
    number, count = 0, len(writes)
    while (burst := await messages.next_burst()) is not None:
        for part in (burst,) if len(burst) <= most else _parts(burst, most):
            for message in part:
                writes[number](message)
                number += 1
                if number == count:
                    number = 0
            await ends.handed_over(PATIENCE_NS)
    await ends.emptied(PATIENCE_NS)
    way.on_handed_over()
    await ends.close()


def _parts(burst: Sequence[bytes], most: int) -> Iterator[Sequence[bytes]]:
    """A burst in parts: the whole would wait in memory for a slower receiver."""
    return (burst[first : first + most] for first in range(0, len(burst), most))
