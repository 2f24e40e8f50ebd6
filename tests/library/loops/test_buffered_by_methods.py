"""Protocols that have `get_buffer` without being `asyncio.BufferedProtocol`: uvloop takes them."""

from __future__ import annotations

import asyncio
import socket

import pytest
from tests.library.setups import NAMES, Connector, Setup

ON_UVLOOP = [name for name in NAMES if name.endswith("uvloop")]


class ByMethods(asyncio.BaseProtocol):
    """Buffered by what it has, and not by its class."""

    def __init__(self, wanted_bytes: int) -> None:
        self.received = bytearray()
        self._wanted_bytes = wanted_bytes
        self._buffer = bytearray(1_000)
        self.done = asyncio.get_running_loop().create_future()

    def get_buffer(self, _sizehint: int) -> memoryview:
        return memoryview(self._buffer)

    def buffer_updated(self, nbytes: int) -> None:
        self.take(self._buffer[:nbytes])

    def eof_received(self) -> None:
        """Close."""

    def take(self, data: bytes | bytearray) -> None:
        self.received += data
        if len(self.received) == self._wanted_bytes:
            self.done.set_result(None)


class BothWays(ByMethods, asyncio.Protocol):
    """uvloop gives an `asyncio.Protocol` its bytes, whatever else it has."""

    def get_buffer(self, _sizehint: int) -> memoryview:
        raise AssertionError("it is an asyncio.Protocol")

    def data_received(self, data: bytes) -> None:
        self.take(data)


@pytest.mark.parametrize("name", ON_UVLOOP)
@pytest.mark.parametrize("kind", [ByMethods, BothWays])
def test_uvloop_reads_as_it_would_without_us(
    name: str, kind: type[ByMethods], unix_pair: tuple[socket.socket, socket.socket]
) -> None:
    ours, peer = unix_pair
    sent = bytes(range(251)) * 40

    async def program(connector: Connector) -> bytes:
        protocol = kind(len(sent))
        transport = await connector.protocol(protocol, ours)
        peer.sendall(sent)
        await protocol.done
        transport.write(b"thanks")
        transport.close()
        return bytes(protocol.received)

    ours.setblocking(False)
    assert Setup(name).run(program) == sent
    assert peer.recv(100) == b"thanks"
