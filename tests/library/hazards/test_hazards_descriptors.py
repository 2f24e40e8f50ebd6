"""Hazards of descriptor numbers: what was held for one file is never written to another."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import warnings
from collections.abc import Callable, Iterator

import pytest
from tests.library.setups import LONG, Connector, Recorder, Setup, receive_rest
from tests.library.wires import Pair, waiting_bytes

import tinygram


@contextlib.contextmanager
def others_untouched() -> Iterator[None]:
    """Other files take all numbers that are free from now on; nothing may reach them."""
    pairs = [socket.socketpair() for _ in range(8)]
    try:
        yield
        received = [waiting_bytes(end) for pair in pairs for end in pair]
        assert received == [0] * len(received)
    finally:
        for pair in pairs:
            for end in pair:
                end.close()


FULL = tinygram.coalesce(61e6)
"""The same as LONG, on a transport that may hold 50 bytes."""
LATE: dict[str, tuple[tinygram.Strategy, Callable[[tinygram.Transport], object]]] = {
    "write": (tinygram.adaptive, lambda transport: transport.write(b"late")),
    "write, large": (tinygram.adaptive, lambda transport: transport.write(bytes(100_000))),
    "write, each at once": (tinygram.nodelay, lambda transport: transport.write(b"late")),
    "writelines": (tinygram.adaptive, lambda transport: transport.writelines([b"la", b"te"])),
    "write more than may be held": (FULL, lambda transport: transport.write(bytes(40))),
    "close": (LONG, lambda transport: transport.close()),
    "write_eof": (LONG, lambda transport: transport.write_eof()),
    "write until it is full": (LONG, lambda transport: transport.write(bytes(100_000))),
    "set limits": (LONG, lambda transport: transport.set_write_buffer_limits(high=0)),
    "close, of a tick": (tinygram.tick, lambda transport: transport.close()),
}


@pytest.mark.parametrize("late", LATE)
def test_a_transport_that_is_used_after_its_loop_was_closed(
    setup: Setup, unix_pair: Pair, late: str
) -> None:
    """uvloop closes the descriptors of open transports, whose numbers the next files have."""
    ours, _ = unix_pair
    strategy, use = LATE[late]
    knobs = {"strategy": strategy, "max_buffered_bytes": 50 if strategy is FULL else None}
    loop = setup.new_loop(**knobs)

    async def connect() -> tinygram.Transport:
        made: tinygram.Transport
        made = await setup.connector(**knobs).protocol(Recorder(), ours)
        return made

    with warnings.catch_warnings():
        # That the transport was left open, and that bytes were lost, may be said.
        warnings.simplefilter("ignore")
        transport = loop.run_until_complete(connect())
        if strategy in (LONG, FULL, tinygram.tick):
            transport.write(b"held by a loop that stopped")
        loop.close()
        with others_untouched():
            with contextlib.suppress(RuntimeError, BufferError):
                use(transport)
            with contextlib.suppress(RuntimeError):
                transport.abort()
            del transport, loop
            gc.collect()


STRATEGIES = (
    tinygram.nodelay,
    tinygram.tick,
    tinygram.adaptive,
    tinygram.coalesce(20_000),
    tinygram.competitive(20_000),
)


class WritesAndIsCancelled(asyncio.Protocol):
    """Writes as soon as it can; then the task that made the connection is cancelled."""

    task: asyncio.Task[None]
    transport: tinygram.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, tinygram.Transport)
        self.transport = transport
        transport.write(b"he")
        transport.write(b"ld")
        self.task.cancel()


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_a_connect_that_is_cancelled_after_its_protocol_wrote(
    setup: Setup, unix_pair: Pair, strategy: tinygram.Strategy
) -> None:
    """uvloop closes the transport then without a word to its protocol, and so to us."""
    ours, peer = unix_pair

    async def program(connect: Connector) -> None:
        protocol = WritesAndIsCancelled()

        async def make() -> None:
            await connect.protocol(protocol, ours)

        protocol.task = asyncio.create_task(make())
        with pytest.raises(asyncio.CancelledError):
            await protocol.task
        await asyncio.sleep(0.002)  # Until the descriptor is closed; the hold outlasts it.
        with others_untouched():
            await asyncio.sleep(0.1)
            with contextlib.suppress(RuntimeError):
                protocol.transport.write(b", and later")
            await asyncio.sleep(0.01)
            protocol.transport.close()
        assert await receive_rest(peer) in (b"", b"he", b"held")

    setup.run(program, strategy=strategy)
