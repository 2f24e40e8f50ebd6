"""Hazards of being called as asyncio may be: by keyword, and with protocols that only write."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from tests.library.setups import Connector, Recorder, Setup, receive, wait_for
from tests.library.wires import Pair

import tinygram


@pytest.mark.parametrize("name", ["loop-asyncio", "loop-uvloop"])
@pytest.mark.parametrize("method", ["create_connection", "connect_accepted_socket"])
def test_a_factory_by_keyword(name: str, method: str, unix_pair: Pair) -> None:
    """`protocol_factory=` was a TypeError: the name is asyncio's, and libraries use it."""
    ours, peer = unix_pair

    async def program(_: Connector) -> None:
        connect: Any = getattr(asyncio.get_running_loop(), method)
        transport, protocol = await connect(protocol_factory=Recorder, sock=ours)
        assert isinstance(transport, tinygram.Transport)
        assert isinstance(protocol, Recorder)
        transport.write(b"message")
        assert await receive(peer, 7) == b"message"
        transport.close()
        assert await protocol.lost is None

    Setup(name).run(program)


@pytest.mark.parametrize("name", ["loop-asyncio", "loop-uvloop"])
@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_factories_of_both_ends_by_keyword(name: str, kind: str, tmp_path: Path) -> None:
    accepted: list[Recorder] = []

    def accept() -> Recorder:
        accepted.append(Recorder())
        return accepted[-1]

    async def program(_: Connector) -> None:
        loop: Any = asyncio.get_running_loop()
        if kind == "tcp":
            server = await loop.create_server(protocol_factory=accept, host="127.0.0.1", port=0)
            _, port = server.sockets[0].getsockname()
            transport, _ = await loop.create_connection(
                protocol_factory=Recorder, host="127.0.0.1", port=port
            )
        else:
            path = str(tmp_path / "s")
            server = await loop.create_unix_server(protocol_factory=accept, path=path)
            transport, _ = await loop.create_unix_connection(protocol_factory=Recorder, path=path)
        assert isinstance(transport, tinygram.Transport)
        transport.write(b"message")
        await wait_for(lambda: bool(accepted) and accepted[0].received == b"message")
        transport.close()
        assert await accepted[0].lost is None
        server.close()
        await server.wait_closed()

    Setup(name).run(program)


class OnlyWrites(asyncio.BaseProtocol):
    """Neither an `asyncio.Protocol` nor a `BufferedProtocol`: it cannot receive."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.told.append("made")
        cast(asyncio.WriteTransport, transport).write(b"message")  # uvloop's is no subclass.

    def connection_lost(self, exc: Exception | None) -> None:
        self.told.append(f"lost: {exc!r}")


Connect = Callable[[asyncio.BaseProtocol, socket.socket], Awaitable[Any]]


async def outcome_of(connect: Connect) -> tuple[str, list[str], bytes]:
    """What comes of a connection whose protocol only writes."""
    protocol = OnlyWrites()
    ours, peer = socket.socketpair()
    with ours, peer:
        try:
            transport = await connect(protocol, ours)
        except Exception as error:  # noqa: BLE001 - whatever the loop says
            # Which class has no `data_received` is not of interest.
            return type(error).__name__, protocol.told, b""
        received = await receive(peer, 7)
        transport.close()
        await wait_for(lambda: len(protocol.told) > 1)
        return "", protocol.told, received


def test_a_protocol_that_only_writes(setup: Setup) -> None:
    """A plain `asyncio.BaseProtocol`, which a loop may allow, was an AttributeError."""

    async def ours(connect: Connector) -> tuple[str, list[str], bytes]:
        return await outcome_of(connect.protocol)

    async def the_loop_s(_: Connector) -> tuple[str, list[str], bytes]:
        async def connect(protocol: asyncio.BaseProtocol, sock: socket.socket) -> Any:
            loop = asyncio.get_running_loop()
            made: Any = await loop.create_connection(lambda: protocol, sock=sock)
            return made[0]

        return await outcome_of(connect)

    plain = Setup(setup.name.replace("loop-", "opened-"))
    assert setup.run(ours) == plain.run(the_loop_s)
