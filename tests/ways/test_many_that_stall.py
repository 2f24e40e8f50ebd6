"""What waits for many peers that take nothing is bounded for all together."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from threading import Thread

import pytest

import tinygram
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.ways.many import ends as many_ends
from tinygram_bench.ways.many.ends import End, Ends

CONNECTIONS = 20
WORST = 7
MOST_BYTES = 512 << 10
PATIENCE_NS = 200_000_000
LONG_NS = 30_000_000_000
FITTING_BYTES = 20 << 10
"""For each connection; all together are less than may wait."""
TOO_MANY_BYTES = 40 << 10
"""For each, less than a stock transport reports; all together are more than may wait."""

Pairs = list[tuple[socket.socket, socket.socket]]
Use = Callable[[Ends], Awaitable[None]]
MAKE_LOOP: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    f"{by} on {runtime}": partial(make, runtime)
    for runtime in ("asyncio", "uvloop")
    for by, make in (
        ("stock transports", lambda runtime: loop_factory(runtime)()),
        ("tinygram", lambda runtime: loop_factory(runtime, tinygram.tick)()),
    )
}


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pairs]:
    """Connections whose peers take nothing, and whose kernel buffers are full."""
    monkeypatch.setattr(many_ends, "MOST_WAITING_BYTES", MOST_BYTES)
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made = []
        for _ in range(CONNECTIONS):
            near = stack.enter_context(socket.create_connection(listener.getsockname()))
            near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            near.setblocking(False)
            with suppress(BlockingIOError):
                while True:
                    near.send(bytes(4096))
            made.append((near, stack.enter_context(listener.accept()[0])))
        yield made


def used(kind: str, pairs: Pairs, use: Use) -> None:
    """Use the near ends of these connections on a loop of this kind."""
    if "uvloop" in kind:
        pytest.importorskip("uvloop")

    async def main() -> None:
        ends = Ends("peer", len(pairs))
        loop = asyncio.get_running_loop()
        for number, (near, _) in enumerate(pairs):
            transport, _protocol = await loop.create_connection(
                partial(End, number, ends), sock=near
            )
            ends.add(transport)
        try:
            await use(ends)
        finally:
            for made in ends.transports:
                made.abort()

    with asyncio.Runner(loop_factory=MAKE_LOOP[kind]) as runner:
        runner.run(main())


def write(ends: Ends, bytes_of_each: int) -> None:
    """Write as much on each connection; on WORST more than what the kernel took may differ by."""
    for number, transport in enumerate(ends.transports):
        transport.write(bytes(bytes_of_each + (4096 if number == WORST else 0)))


@pytest.mark.parametrize("kind", MAKE_LOOP)
def test_less_than_the_bound_may_wait(kind: str, pairs: Pairs) -> None:
    async def use(ends: Ends) -> None:
        write(ends, FITTING_BYTES)
        await ends.written()
        await ends.handed_over(PATIENCE_NS)
        waiting = sum(each.get_write_buffer_size() for each in ends.transports)
        assert MOST_BYTES // 2 < waiting < MOST_BYTES

    used(kind, pairs, use)


@pytest.mark.parametrize("kind", MAKE_LOOP)
def test_more_than_the_bound_ends_the_run_and_the_worst_is_named(kind: str, pairs: Pairs) -> None:
    async def use(ends: Ends) -> None:
        write(ends, TOO_MANY_BYTES)
        with pytest.raises(OSError, match=rf"^peer {WORST} does not keep up: \d+ of the \d+ bytes"):
            await ends.written()

    used(kind, pairs, use)


@pytest.mark.parametrize("kind", MAKE_LOOP)
def test_without_a_pace_what_is_above_a_share_is_waited_for(kind: str, pairs: Pairs) -> None:
    async def use(ends: Ends) -> None:
        write(ends, TOO_MANY_BYTES)
        with pytest.raises(OSError, match=rf"^peer {WORST} does not keep up"):
            await ends.handed_over(PATIENCE_NS)
        for _, far in pairs:
            threads.append(Thread(target=read_all, args=(far,)))
            threads[-1].start()
        await ends.handed_over(LONG_NS)
        await ends.emptied(LONG_NS)

    threads: list[Thread] = []
    used(kind, pairs, use)
    for thread in threads:
        thread.join()


def read_all(sock: socket.socket) -> None:
    with suppress(ConnectionResetError):
        while sock.recv(1 << 16):
            pass
