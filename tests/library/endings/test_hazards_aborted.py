"""A peer that reads nothing, and a connection that is given up: nobody is told of lost bytes."""

from __future__ import annotations

import asyncio
import gc
import socket
import warnings

from tests.library.setups import Connector, Recorder, Setup

STALLING_BYTES = 8 << 20


async def stalled(connector: Connector, sock: socket.socket) -> tuple[Recorder, asyncio.Transport]:
    """A connection whose transport below has bytes that the kernel does not take."""
    recorder = Recorder()
    transport = await connector.protocol(recorder, sock)
    transport.write(bytes(STALLING_BYTES))
    transport.write(b"held behind them")
    while not transport._inner.get_write_buffer_size():
        await asyncio.sleep(0)
    return recorder, transport


def test_a_transport_below_that_is_aborted_ends_without_an_error(
    setup: Setup, unix_pair: tuple[socket.socket, socket.socket]
) -> None:
    """`Server.abort_clients` of Python 3.13 aborts the loop's own transports."""

    async def program(connector: Connector) -> Exception | None:
        recorder, transport = await stalled(connector, unix_pair[0])
        transport._inner.abort()  # type: ignore[attr-defined]
        return await recorder.lost

    unix_pair[0].setblocking(False)
    assert setup.run(program) is None


def test_an_aborted_transport_is_freed_without_a_warning(
    setup: Setup, unix_pair: tuple[socket.socket, socket.socket]
) -> None:
    async def program(connector: Connector) -> None:
        recorder, transport = await stalled(connector, unix_pair[0])
        transport.abort()
        await recorder.lost

    unix_pair[0].setblocking(False)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        setup.run(program)
        gc.collect()
    assert [str(each.message) for each in warned if each.category is RuntimeWarning] == []
