"""Hazards of a connection's end: why it ended is said as asyncio says it, and nothing stays."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import textwrap
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
from tests.library.setups import LONG, STRATEGIES, Connector, Recorder, Setup, wait_for
from tests.library.wires import (
    STALLED,
    Pair,
    anonymous,
    finish,
    receive_exactly,
    reset,
    start_python,
    tcp_pair,
    wait_until_reset,
)

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

    def send_last(self, request: bytes) -> None:
        """The request and the end of the stream (close_notify) in one write."""
        self._peer.sendall(self._to_peer.read())
        self._tls.write(request)
        with pytest.raises(ssl.SSLWantReadError):
            self._tls.unwrap()
        self._peer.sendall(self._to_peer.read())

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


@pytest.mark.parametrize("strategy", [*STRATEGIES.values(), LONG], ids=str)
def test_a_reply_to_what_came_with_the_end_of_tls(
    setup: Setup, tcp: Pair, strategy: tinygram.Strategy
) -> None:
    """TLS closes whatever `eof_received` returns: what was held for a tick then was lost."""
    ours, peer = tcp
    received: list[bytes] = []

    def serve() -> None:
        encrypted = Encrypted(peer)
        encrypted.shake_hands()
        encrypted.send_last(b"request")
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


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
@pytest.mark.parametrize("reads", [True, False], ids=["reading", "paused"])
def test_a_reset_that_a_write_meets(
    setup: Setup, tcp: Pair, strategy: tinygram.Strategy, reads: bool
) -> None:
    """Our write took the kernel's ECONNRESET, and the loop's own, after it, was told EPIPE."""
    ours, peer = tcp

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        if not reads:
            transport.pause_reading()
        await asyncio.sleep(0)
        reset(peer)
        wait_until_reset(ours)
        transport.write(b"too ")
        transport.write(b"late")
        assert isinstance(await protocol.lost, ConnectionResetError)

    setup.run(program, strategy=strategy)


class Forgettable(asyncio.Protocol):
    """Refers to nothing."""

    def __init__(self, lost: asyncio.Future[None]) -> None:
        self._lost = lost

    def connection_lost(self, _: Exception | None) -> None:
        self._lost.set_result(None)


class ForgettableBuffer(asyncio.BufferedProtocol):
    """Likewise, as one that has its own buffer."""

    def __init__(self, lost: asyncio.Future[None]) -> None:
        self._lost = lost
        self._buffer = bytearray(1000)

    def get_buffer(self, _: int) -> bytearray:
        return self._buffer

    def connection_lost(self, _: Exception | None) -> None:
        self._lost.set_result(None)


@pytest.mark.parametrize("strategy", [tinygram.tick, LONG], ids=str)
@pytest.mark.parametrize("end", ["close", "abort", "the peer's"])
@pytest.mark.parametrize("kind", [Forgettable, ForgettableBuffer])
def test_a_closed_connection_is_freed_at_once(
    setup: Setup,
    kind: type[Forgettable | ForgettableBuffer],
    end: str,
    strategy: tinygram.Strategy,
) -> None:
    """Cycles, which only the garbage collector ends, are megabytes on a server of short ones."""

    async def connect_and_end(connect: Connector) -> list[weakref.ref[Any]]:
        ours, peer = tcp_pair()
        lost = asyncio.get_running_loop().create_future()
        protocol = kind(lost)
        transport = await connect.protocol(protocol, ours)
        transport.write(b"message")
        if end == "the peer's":
            peer.shutdown(socket.SHUT_WR)
        else:
            getattr(transport, end)()
        await lost
        peer.close()
        return [weakref.ref(protocol), weakref.ref(transport)]

    async def program(connect: Connector) -> None:
        ends = await connect_and_end(connect)
        async with asyncio.timeout(30):
            await wait_for(lambda: [end() for end in ends] == [None, None])

    gc.disable()
    try:
        setup.run(program, strategy=strategy)
    finally:
        gc.enable()


FORKS = f"""
import asyncio, os
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from tests.library.setups import LONG, Recorder, Setup
setup = Setup(sys.argv[2])

async def main(data):
    recorder = Recorder()
    transport = await setup.connector(strategy=LONG).protocol(recorder, sock)
    transport.write(data)
    child = os.fork()
    if child == 0:
        transport.__del__()
        sys.stderr.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    transport.abort()
    await recorder.lost

def run(data):
    with asyncio.Runner(loop_factory=lambda: setup.new_loop(strategy=LONG)) as runner:
        runner.run(main(data))
"""


@pytest.mark.parametrize("count", [4, STALLED], ids=["held", "stalled"])
def test_a_fork_s_child_does_not_miss_its_parent_s_bytes(
    setup: Setup, unix_pair: Pair, count: int
) -> None:
    """The child warned of bytes that were never sent, though its parent was about to send them."""
    ours, _ = unix_pair
    process = start_python(FORKS + textwrap.dedent(f"run(bytes({count}))"), ours, setup.name)
    _, errors = finish(process)
    assert (process.returncode, errors) == (0, "")
