"""TLS over a socket of the event loop, whose peer the test plays in memory."""

from __future__ import annotations

import time
from asyncio.selector_events import _SelectorSocketTransport  # type: ignore[attr-defined]
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.library.established.ends import Contexts, Ends, tls_1_2
from tests.library.wires import LONGEST_S, tcp_pair, waiting_bytes

from tinygram import _native
from tinygram.aio.established_tls import established

_PIECE_BYTES = 32 << 10
"""What a socket of loopback takes at once in any case."""


class SocketEnds(Ends):
    """The same ends, joined by a socket."""

    def __init__(
        self,
        is_straight: bool,
        buffer: bytearray | memoryview,
        contexts: Callable[[], Contexts] = tls_1_2,
    ) -> None:
        super().__init__(is_short=False, buffer=buffer, contexts=contexts)
        self._writer = established(self.transport) if is_straight else self.transport
        self._written: list[list[bytes]] = []

    def _shake_hands(self) -> None:
        self.socket, self.peer_socket = tcp_pair()
        self.socket.setblocking(False)
        self.peer_socket.setblocking(False)
        self.below = _SelectorSocketTransport(self.loop, self.socket, self.tls)
        self._until_agreed(self._written_in_a_turn)

    def _written_in_a_turn(self) -> bytes:
        self.turn()
        return self._ciphertext()

    def arrive(self, ciphertext: bytes) -> None:
        """Let TLS read this from its socket, each piece by itself."""
        while ciphertext and not self.below.is_closing():
            piece, ciphertext = ciphertext[:_PIECE_BYTES], ciphertext[_PIECE_BYTES:]
            self.peer_socket.sendall(piece)
            _until(lambda: waiting_bytes(self.socket) > 0)
            self.turn()

    def write(self, message: bytes) -> None:
        super().write(message)
        self.collect()

    def collect(self) -> None:
        """Take note of what has been sent."""
        if ciphertext := self._ciphertext():
            self._written.append(list(self._decrypted(ciphertext)))

    def sent(self) -> list[list[bytes]]:
        """The plaintext of the records in each write so far; an empty one is a close_notify."""
        self.collect()
        return self._written

    @property
    def stream(self) -> tuple[bytes, bool]:
        """All plaintext so far, and whether a close_notify came."""
        records = [record for write in self.sent() for record in write]
        return b"".join(records), b"" in records

    def _ciphertext(self) -> bytes:
        found = []
        with suppress(OSError):  # There is no more, or the peer has closed its end.
            while part := self.peer_socket.recv(1 << 20):
                found.append(part)
        return b"".join(found)


def _until(condition: Any) -> None:
    give_up_s = time.monotonic() + LONGEST_S
    while not condition():
        assert time.monotonic() < give_up_s
        time.sleep(0.0001)


@contextmanager
def socket_ends(
    is_straight: bool,
    buffer: bytearray | memoryview | None = None,
    contexts: Callable[[], Contexts] = tls_1_2,
) -> Iterator[SocketEnds]:
    if buffer is None:
        buffer = memoryview(bytearray(1 << 16))
    made = SocketEnds(is_straight, buffer, contexts)
    try:
        assert isinstance(made._writer, _native.StraightTls) is is_straight
        yield made
    finally:
        made.below.abort()
        made.turn()
        made.peer_socket.close()
        made.loop.close()
