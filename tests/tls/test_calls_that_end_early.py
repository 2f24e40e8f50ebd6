"""The server of `rr --tls` counts a request that is cut off, however its connection ends."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tinygram_bench._native import CallContent
from tinygram_bench.host.network.connections import Listener
from tinygram_bench.tls.certificates import Identity, new_identity
from tinygram_bench.tls.contexts import client_context, server_context
from tinygram_bench.tls.decrypting import Decrypting
from tinygram_bench.workloads.rr.loop_serving import _Counts, _EncryptedConnection
from tinygram_bench.workloads.rr.order import ServerOrder

REQUEST_BYTES = 100
CONTENT = CallContent(REQUEST_BYTES, 10, 1)


class Wire(asyncio.Transport):
    """Stands in for the loop's transport: what is written is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self._is_closing = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 1), "socket": Socket()}.get(name, default)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self._is_closing = True

    def abort(self) -> None:
        self._is_closing = True

    def is_closing(self) -> bool:
        return self._is_closing


class Socket:
    def setsockopt(self, *_: int) -> None: ...

    def fileno(self) -> int:
        return 0  # Nothing is read of it: on one host there is no token.


class Connected:
    """A client and the server's end of one connection, the handshake made."""

    def __init__(self, identity: Identity) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = client_context(identity.certificate).wrap_bio(
            self._incoming, self._outgoing, server_hostname="tinygram"
        )
        self.counts = _Counts()
        self.wire = Wire()
        tls = Decrypting(server_context(identity))
        order = ServerOrder("asyncio", REQUEST_BYTES, 10, 1, 1, "nodelay", False, "cubic")
        with Listener(order.host, order.client) as listener:
            self.server = _EncryptedConnection(order, listener, CONTENT, self.counts, tls)
        self.server.connection_made(self.wire)
        with pytest.raises(ssl.SSLWantReadError):
            self.client.do_handshake()
        self.pass_on()
        self.client.do_handshake()
        self.pass_on()

    def pass_on(self, but_for: int = 0) -> None:
        """All that the client has written but for its last bytes, and what is answered."""
        sent = self._outgoing.read()
        self.server.data_received(sent[: len(sent) - but_for])
        self._incoming.write(self.wire.written)
        self.wire.written = b""

    def say_farewell(self) -> None:
        with pytest.raises(ssl.SSLWantReadError):
            self.client.unwrap()


@pytest.fixture(scope="module")
def identity() -> Identity:
    return new_identity()


def leave_by_farewell(connected: Connected) -> None:
    connected.client.write(CONTENT.request(0)[:-1])
    connected.say_farewell()
    connected.pass_on()


def leave_without(connected: Connected) -> None:
    connected.client.write(CONTENT.request(0)[:-1])
    connected.pass_on()
    connected.server.eof_received()


def leave_within_a_record(connected: Connected) -> None:
    connected.client.write(CONTENT.request(0))
    connected.pass_on(but_for=1)
    connected.server.eof_received()


@pytest.mark.parametrize("leave", [leave_by_farewell, leave_without, leave_within_a_record])
def test_a_request_that_is_cut_off_is_counted(
    leave: Callable[[Connected], None], identity: Identity
) -> None:
    connected = Connected(identity)
    leave(connected)
    assert (connected.counts.requests, connected.counts.short_requests) == (0, 1)


@pytest.mark.parametrize("leaves", [[True], [False]])
def test_an_end_between_requests_is_none(leaves: Sequence[bool], identity: Identity) -> None:
    connected = Connected(identity)
    connected.client.write(CONTENT.request(0))
    for by_farewell in leaves:
        if by_farewell:
            connected.say_farewell()
        connected.pass_on()
        if not by_farewell:
            connected.server.eof_received()
    assert (connected.counts.requests, connected.counts.short_requests) == (1, 0)


def test_of_a_connection_that_sent_wrong_bytes_nothing_more_is_read(identity: Identity) -> None:
    connected = Connected(identity)
    for _ in range(3):
        connected.client.write(bytes(REQUEST_BYTES))
    connected.pass_on()
    assert connected.wire.is_closing()
    assert connected.counts.wrong_requests == 1
    assert connected.wire.written == b""
