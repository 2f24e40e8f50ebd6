"""Hazards of the end of TLS: what is held leaves before it, and why it ended is said."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import threading
import warnings
from typing import Any

import pytest
from tests.library.setups import (
    LONG,
    NAMES,
    STRATEGIES,
    Connector,
    Recorder,
    Setup,
)
from tests.library.wires import STALLED, Pair, anonymous, receive_exactly, reset

import tinygram


class Encrypted:
    """The peer's side of TLS, which decides what leaves in one write."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        self._from_peer, self._to_peer = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = anonymous(ssl.PROTOCOL_TLS_SERVER)
        self._tls = context.wrap_bio(self._from_peer, self._to_peer, server_side=True)

    def shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._peer.sendall(self._to_peer.read())
                self._from_peer.write(self._peer.recv(1 << 16))

    def send_last(self, request: bytes, *, is_told: bool = True) -> None:
        """The request and the end of the stream in one write; told: by a close_notify of TLS."""
        self._peer.sendall(self._to_peer.read())
        self._tls.write(request)
        if is_told:
            with pytest.raises(ssl.SSLWantReadError):
                self._tls.unwrap()
        self._peer.sendall(self._to_peer.read())
        if not is_told:
            self._peer.shutdown(socket.SHUT_WR)

    def send_broken(self) -> None:
        """A record that nobody has encrypted."""
        self._peer.sendall(self._to_peer.read())
        self._peer.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))

    def receive_all(self) -> bytes:
        while chunk := self._peer.recv(1 << 16):
            self._from_peer.write(chunk)
        received = bytearray()
        try:
            while plain := self._tls.read(1 << 16):
                received += plain
        except ssl.SSLError:
            pass  # That is the end, of one kind or another.
        return bytes(received)


class Replies(Recorder):
    """Answers what it receives, in two messages, and wishes to keep the connection."""

    transport: Any

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.transport.write(b"reply to ")
        self.transport.write(data)

    def eof_received(self) -> bool:
        return True


ENDS = [(each, True) for each in NAMES] + [
    (f"{each}-asyncio", False) for each in ("opened", "loop")
]
"""Set-up, and whether the end is told: where it is not, uvloop takes nothing more."""


@pytest.mark.parametrize(("name", "is_told"), ENDS)
@pytest.mark.parametrize("strategy", [*STRATEGIES.values(), LONG], ids=str)
def test_a_reply_to_what_came_with_the_end_of_tls(
    name: str, is_told: bool, tcp: Pair, strategy: tinygram.Strategy
) -> None:
    """TLS closes whatever `eof_received` returns: what was held for a tick then was lost."""
    ours, peer = tcp
    setup = Setup(name)
    received: list[bytes] = []

    def serve() -> None:
        encrypted = Encrypted(peer)
        encrypted.shake_hands()
        encrypted.send_last(b"request", is_told=is_told)
        received.append(encrypted.receive_all())

    async def program(_: Connector) -> None:
        loop = asyncio.get_running_loop()
        protocol = Replies()
        context = anonymous(ssl.PROTOCOL_TLS_CLIENT)
        if setup.is_ours:
            await loop.create_connection(
                lambda: protocol, sock=ours, ssl=context, server_hostname=""
            )
        else:
            await tinygram.create_connection(
                loop,
                lambda: protocol,
                sock=ours,
                ssl=context,
                server_hostname="",
                strategy=strategy,
            )
        assert await protocol.lost is None

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    setup.run(program, strategy=strategy)
    server.join(timeout=60)
    assert received == [b"reply to request"]


@pytest.mark.parametrize("name", ["opened-asyncio", "loop-asyncio", "loop-uvloop"])
@pytest.mark.parametrize("answer", ["no TLS", "end", "reset"])
def test_a_tls_handshake_that_fails(name: str, answer: str, tcp: Pair) -> None:
    """The stock loop ends the transport below TLS by a private method, which ours had not."""
    ours, peer = tcp

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        context = anonymous(ssl.PROTOCOL_TLS_CLIENT)
        upgrading = asyncio.create_task(
            asyncio.get_running_loop().start_tls(
                transport, protocol, context, server_hostname="", ssl_handshake_timeout=60
            )
        )
        await asyncio.get_running_loop().run_in_executor(None, refuse)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            async with asyncio.timeout(30):
                await upgrading

    def refuse() -> None:
        receive_exactly(peer, 5)  # The beginning of a ClientHello.
        if answer == "no TLS":
            peer.sendall(b"this is no TLS at all, and never was\n")
        elif answer == "end":
            peer.shutdown(socket.SHUT_WR)
        else:
            reset(peer)

    Setup(name).run(program)


@pytest.mark.parametrize("name", ["opened-asyncio", "loop-asyncio"])
def test_tls_that_breaks_after_its_handshake_is_no_clean_end(name: str, tcp: Pair) -> None:
    """A reader that is told of the end alone would take what is missing for nothing."""
    ours, peer = tcp

    def serve() -> None:
        encrypted = Encrypted(peer)
        encrypted.shake_hands()
        encrypted.send_broken()
        encrypted.receive_all()

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        context = anonymous(ssl.PROTOCOL_TLS_CLIENT)
        loop = asyncio.get_running_loop()
        await loop.start_tls(transport, protocol, context, server_hostname="")
        assert isinstance(await protocol.lost, ssl.SSLError)

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    Setup(name).run(program)
    server.join(timeout=60)


@pytest.mark.parametrize("name", ["loop-asyncio", "loop-uvloop"])
def test_encryption_begins_when_the_kernel_has_what_was_written_before(
    name: str, tcp: Pair
) -> None:
    """TLS would be told to write again, and had never been told to stop."""
    ours, peer = tcp
    received: list[bytes] = []

    def serve() -> None:
        received.append(receive_exactly(peer, STALLED))
        with anonymous(ssl.PROTOCOL_TLS_SERVER).wrap_socket(peer, server_side=True) as encrypted:
            received.append(encrypted.recv(9))

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        transport.write(bytes(STALLED))
        server.start()
        context = anonymous(ssl.PROTOCOL_TLS_CLIENT)
        loop = asyncio.get_running_loop()
        encrypted = await loop.start_tls(transport, protocol, context, server_hostname="")
        assert encrypted is not None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            del transport
            gc.collect()
        encrypted.write(b"encrypted")
        encrypted.close()
        await protocol.lost

    server = threading.Thread(target=serve, daemon=True)
    Setup(name).run(program)
    server.join(timeout=60)
    assert received == [bytes(STALLED), b"encrypted"]


@pytest.mark.parametrize("name", ["loop-asyncio", "loop-uvloop"])
@pytest.mark.parametrize("ends", [True, False], ids=["reset", "silent"])
def test_a_connection_that_ends_before_tls_begins_is_told(name: str, tcp: Pair, ends: bool) -> None:
    """A handshake on a connection that is gone would wait for its whole time."""
    ours, peer = tcp

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        transport.write(bytes(STALLED))
        context = anonymous(ssl.PROTOCOL_TLS_CLIENT)
        loop = asyncio.get_running_loop()
        limit_s = 30.0 if ends else 0.5
        upgrading = loop.start_tls(
            transport, Recorder(), context, server_hostname="", ssl_handshake_timeout=limit_s
        )
        if ends:
            loop.call_later(0.1, reset, peer)
        async with asyncio.timeout(20):
            with pytest.raises(ConnectionAbortedError, match="before TLS"):
                await upgrading
        transport.abort()

    Setup(name).run(program)


def test_a_writer_that_waits_is_woken_though_tls_was_closed_twice(tcp: Pair) -> None:
    ours, peer = tcp
    received: list[int] = []
    has_stalled = threading.Event()

    def serve() -> None:
        with anonymous(ssl.PROTOCOL_TLS_SERVER).wrap_socket(peer, server_side=True) as encrypted:
            has_stalled.wait(60)
            count = 0
            while count < 2 * STALLED:
                count += len(encrypted.recv(1 << 16))
            received.append(count)

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        context = anonymous(ssl.PROTOCOL_TLS_CLIENT)
        loop = asyncio.get_running_loop()
        encrypted = await loop.start_tls(transport, protocol, context, server_hostname="")
        assert isinstance(encrypted, asyncio.Transport)
        # TLS encrypts all of the first at once, and keeps the second, for the socket takes no more.
        encrypted.write(bytes(STALLED))
        encrypted.write(bytes(STALLED))
        while protocol.told != ["pause"]:
            await asyncio.sleep(0)
        encrypted.close()
        encrypted.close()
        has_stalled.set()
        await protocol.lost
        assert protocol.told == ["pause", "resume", "lost"]

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    Setup("loop-asyncio").run(program)
    server.join(timeout=60)
    assert received == [2 * STALLED]
