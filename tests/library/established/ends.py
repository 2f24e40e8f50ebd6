"""TLS between a protocol and a transport that only take notes, with its peer, all in memory."""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.library.wires import anonymous

from tinygram.aio.established_tls import EstablishedTls, established
from tinygram_bench.tls.certificates import SERVER_NAME, new_identity
from tinygram_bench.tls.contexts import client_context, server_context

KIND = {False: SSLProtocol, True: EstablishedTls}
"""Whether the ways are short → the class that TLS has then."""


class Below(asyncio.Transport):
    """The transport below TLS, without a socket: it notes what TLS asks of it."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.told: list[str] = []
        self.fault: Exception | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.fault is not None:
            raise self.fault
        self.written.append(bytes(data))

    def pause_reading(self) -> None:
        self.told.append("pause")

    def resume_reading(self) -> None:
        self.told.append("resume")

    def close(self) -> None:
        self.told.append("close")

    def abort(self) -> None:
        self._force_close(None)

    def _force_close(self, error: Exception | None) -> None:
        self.told.append(f"end for {type(error).__name__}")


class Above(asyncio.BufferedProtocol):
    """The program's protocol, which notes what it is told, and reacts as a scenario asks."""

    def __init__(self, buffer: bytearray | memoryview) -> None:
        self.buffer = buffer
        self.told: list[object] = []
        self.sizehints: list[int] = []
        self.lost_for: list[str] = []
        self.reactions: dict[str, Callable[[], object]] = {}

    def _note(self, what: object, name: str) -> None:
        self.told.append(what)
        self._react(name)

    def _react(self, name: str) -> None:
        self.reactions.get(name, lambda: None)()

    def get_buffer(self, sizehint: int) -> bytearray | memoryview:
        self.sizehints.append(sizehint)
        self._react("buffer")
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._note(bytes(self.buffer[:nbytes]), "data")

    def eof_received(self) -> None:
        self._note("eof", "eof")

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost_for.append(repr(exc))

    def pause_writing(self) -> None:
        self._note("pause", "pause")

    def resume_writing(self) -> None:
        self._note("resume", "resume")

    @property
    def received(self) -> bytes:
        """All that came, in order."""
        return b"".join(each for each in self.told if isinstance(each, bytes))


Contexts = tuple[ssl.SSLContext, ssl.SSLContext]
"""The contexts of a client and of its server."""


def tls_1_2() -> Contexts:
    """Without certificates, and without a word more once the handshake is over."""
    return anonymous(ssl.PROTOCOL_TLS_CLIENT), anonymous(ssl.PROTOCOL_TLS_SERVER)


def tls_1_3() -> Contexts:
    """The server sends tickets after the handshake."""
    identity = new_identity()
    return client_context(identity.certificate), server_context(identity)


class Ends:
    """TLS between `above` and `below`, whose handshake is over, and the peer of it."""

    below: Any
    transport: Any

    def __init__(
        self,
        is_short: bool,
        buffer: bytearray | memoryview,
        contexts: Callable[[], Contexts] = tls_1_2,
    ) -> None:
        self.loop = asyncio.SelectorEventLoop()
        self.faults: list[str] = []
        self._sent: list[list[bytes]] = []
        self.reports: list[str] = []
        self.loop.set_exception_handler(lambda _, told: self._report(told))
        self.above = Above(buffer)
        of_client, of_server = contexts()
        self.tls: Any = SSLProtocol(
            self.loop,
            self.above,
            of_client,
            self.loop.create_future(),
            server_hostname=SERVER_NAME,
        )
        self._to_peer, self._from_peer = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._peer = of_server.wrap_bio(self._to_peer, self._from_peer, server_side=True)
        self._shake_hands()
        self.transport = self.tls._app_transport
        self.transport.set_write_buffer_limits(high=1, low=0)
        self._writer = established(self.transport) if is_short else self.transport

    def _report(self, told: dict[str, Any]) -> None:
        self.faults.append(repr(told["exception"]))
        self.reports.append(f"{told['message']}: {told['exception']!r}")

    def write(self, message: bytes) -> None:
        """Send the message the short way, or asyncio's."""
        self._writer.write(message)

    def _shake_hands(self) -> None:
        self.below = Below()
        self.tls.connection_made(self.below)
        self._until_agreed(self._taken_from_below)

    def _taken_from_below(self) -> bytes:
        written = b"".join(self.below.written)
        self.below.written.clear()
        return written

    def _until_agreed(self, written: Callable[[], bytes]) -> None:
        """Carry the handshake on; `written` takes what TLS has written since it was last asked."""
        is_over = False
        while not is_over:
            self._to_peer.write(written())
            with suppress(ssl.SSLWantReadError):
                self._peer.do_handshake()
                is_over = True
            self.arrive(self._from_peer.read())
        self.above.sizehints.clear()

    def arrive(self, ciphertext: bytes) -> None:
        """Let TLS read this from the transport below."""
        self.tls.get_buffer(-1)[: len(ciphertext)] = ciphertext
        self.tls.buffer_updated(len(ciphertext))

    def records(self, *messages: bytes) -> bytes:
        """What the peer sends, a record for each message."""
        for message in messages:
            self._peer.write(message)
        return self._from_peer.read()

    def farewell(self) -> bytes:
        """The peer's close_notify."""
        with suppress(ssl.SSLWantReadError):
            self._peer.unwrap()
        return self._from_peer.read()

    def turn(self) -> None:
        """Let the loop do all that it has been asked for."""
        for _ in range(20):
            self.loop.run_until_complete(asyncio.sleep(0))

    def sent(self) -> list[list[bytes]]:
        """The plaintext of the records in each write so far; an empty one is a close_notify."""
        for write in self.below.written[len(self._sent) :]:
            self._sent.append(list(self._decrypted(write)))
        return self._sent

    def _decrypted(self, ciphertext: bytes) -> Iterator[bytes]:
        self._to_peer.write(ciphertext)
        try:
            while record := self._peer.read(1 << 16):
                yield record
        except ssl.SSLWantReadError:
            return
        except ssl.SSLZeroReturnError:
            pass  # This is how it says so after its own close_notify.
        yield b""


@contextmanager
def ends(is_short: bool, buffer: bytearray | memoryview | None = None) -> Iterator[Ends]:
    made = Ends(is_short, memoryview(bytearray(1 << 16)) if buffer is None else buffer)
    try:
        assert type(made.tls) is KIND[is_short]
        yield made
    finally:
        made.tls.connection_lost(None)
        made.turn()
        made.loop.close()
