"""An event loop that writes each message on every connection, as programs do.

It writes on the transports of protocols or the writers of streams; on the library's loop it is the
same program. By hand with `tick`, messages that are due together are joined once, and the whole is
written on every connection.
"""

from __future__ import annotations

import asyncio
import socket
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Sequence

from tinygram_bench import _native
from tinygram_bench.loads.source import BURST_MESSAGES
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.ways.many.ends import MOST_WAITING_BYTES, End, Ends
from tinygram_bench.workloads.fanout.job import Job, Times
from tinygram_bench.workloads.fanout.order import WARM_UP, Begin

Write = Callable[[bytes], None]
_AT_ONCE = ("nodelay", "nagle")
"""The library's strategies that write each message at once."""


def publish(job: Job) -> None:
    order = job.order
    strategy = order.strategy if order.implementation == "tinygram" else None
    with asyncio.Runner(loop_factory=loop_factory(order.runtime, strategy)) as runner:
        runner.run(_publish(job))


class _StreamEnd(asyncio.StreamReaderProtocol):
    """The protocol of streams, which also tells `Ends` what happens to its connection."""

    def __init__(self, subscriber: int, ends: Ends) -> None:
        self.reader = asyncio.StreamReader()
        super().__init__(self.reader)
        self._subscriber, self._ends = subscriber, ends

    def pause_writing(self) -> None:
        super().pause_writing()
        self._ends.on_full(self._subscriber)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._ends.on_room(self._subscriber)

    def connection_lost(self, reason: Exception | None) -> None:
        super().connection_lost(reason)
        self._ends.on_lost(self._subscriber, reason)


class _Alarm:
    """Wakes the loop when a publication is due, as an event from outside would."""

    def __init__(self) -> None:
        self._timer = _native.Timer()
        self._loop = asyncio.get_running_loop()
        self._rung = self._loop.create_future()
        self._loop.add_reader(self._timer.fileno(), self._ring)

    async def until(self, at_ns: int) -> None:
        if time.monotonic_ns() >= at_ns:
            return
        self._rung = self._loop.create_future()
        self._timer.set(at_ns)
        await self._rung

    def close(self) -> None:
        self._loop.remove_reader(self._timer.fileno())

    def _ring(self) -> None:
        if self._timer.take() and not self._rung.done():
            self._rung.set_result(None)


async def _publish(job: Job) -> None:
    order, publications = job.order, job.publications
    ends = Ends("subscriber", order.subscribers)
    writes = [await _connected(job, ends, number, sock) for number, sock in enumerate(job.sockets)]
    job.watch_writes()
    began_ns = time.monotonic_ns()
    for number in range(WARM_UP):
        message = publications.message(number, time.monotonic_ns())
        for write in writes:
            write(message)
        await ends.handed_over(order.patience_ns)
    took_ns = time.monotonic_ns() - began_ns
    await ends.emptied(order.patience_ns)
    begin = job.warmed_up(took_ns)
    number = WARM_UP
    is_joined = order.implementation == "stdlib" and order.strategy.name == "tick"
    is_held = order.implementation == "tinygram" and order.strategy.name not in _AT_ONCE
    job.times = times = Times(begin, is_held=is_held)
    async for all_due_ns in due(job, begin, ends, times):
        times.begin(all_due_ns)
        messages = [
            publications.message(each, due_ns) for each, due_ns in enumerate(all_due_ns, number)
        ]
        number += len(messages)
        for message in [b"".join(messages)] if is_joined else messages:
            for write in writes:
                write(message)
            times.wrote(len(messages) if is_joined else 1)
    await ends.emptied(order.patience_ns)
    job.published(number - WARM_UP)
    await ends.close()


async def _connected(job: Job, ends: Ends, number: int, sock: socket.socket) -> Write:
    loop = asyncio.get_running_loop()
    sock.setblocking(False)
    if job.order.server == "streams":
        protocol = _StreamEnd(number, ends)
        transport, _ = await loop.create_connection(lambda: protocol, sock=sock)
        ends.add(transport)
        return asyncio.StreamWriter(transport, protocol, protocol.reader, loop).write
    transport, _ = await loop.create_connection(lambda: End(number, ends), sock=sock)
    ends.add(transport)
    return transport.write


async def due(job: Job, begin: Begin, ends: Ends, times: Times) -> AsyncIterator[Sequence[int]]:
    """Yields when the publications of each iteration are due, in ns of CLOCK_MONOTONIC.

    With a pace, these are all whose time has come: where a pass over all connections takes longer
    than the time between two publications, there are several. Without one, they are a burst, as
    soon as those before were handed over, in the open part of each slice. `times` is told when an
    iteration has ended.
    """
    order, slices = job.order, begin.slices
    alarm = _Alarm()
    if order.native_pace is not None:
        all_due_ns = [
            begin.at_ns + after_ns
            for after_ns in _native.publications_due_ns(order.native_pace, slices.native)
        ]
        fitting = MOST_WAITING_BYTES // (order.subscribers * order.message_bytes)
        most = max(order.burst, min(BURST_MESSAGES, fitting))
        first = 0
        while first < len(all_due_ns):
            await alarm.until(all_due_ns[first])
            end = min(first + most, len(all_due_ns))
            end = bisect_right(all_due_ns, time.monotonic_ns(), first, end)
            yield all_due_ns[first:end]
            await ends.written()
            times.end()
            first = end
        await ends.handed_over(order.patience_ns)
    else:
        for after_ns in slices.begins_ns:
            begin_ns = begin.at_ns + after_ns
            await alarm.until(begin_ns)
            while (now_ns := time.monotonic_ns()) < begin_ns + slices.open_ns:
                yield [now_ns] * order.burst
                await ends.handed_over(order.patience_ns)
                times.end()
    alarm.close()
