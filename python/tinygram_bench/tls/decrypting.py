"""The server's end of an encrypted connection without a socket: bytes in, bytes out.

It counts records with data by their headers, but not the handshake and the farewell.
"""

from __future__ import annotations

import ssl
from typing import NamedTuple

from tinygram_bench.tls.contexts import MOST_RECORD_BYTES, check_agreed
from tinygram_bench.tls.records import Records


class Found(NamedTuple):
    """The plaintext of each whole record, and counts of records with data.

    `record_count`: how many began; `wire_bytes`: the bytes of them that came, headers included.
    `is_closed`: the other end has said farewell.
    """

    records: list[bytes]
    record_count: int
    wire_bytes: int
    is_closed: bool


class Decrypting:
    """One connection, from its handshake on."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._has_shaken_hands = False
        self._seen = Records()

    def push(self, chunk: bytes) -> Found:
        """Take bytes from the other end. Raises OSError, also where the handshake fails."""
        self._incoming.write(chunk)
        if not self._has_shaken_hands:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                return Found([], 0, 0, is_closed=False)
            check_agreed(self._tls)
            self._has_shaken_hands = True
            # The handshake takes records one by one: what it leaves are the chunk's last bytes.
            chunk = chunk[len(chunk) - self._incoming.pending :]
        before = self._seen.count, self._seen.wire_bytes
        self._seen.push(chunk)
        records = []
        is_closed = True
        try:
            while plain := self._tls.read(MOST_RECORD_BYTES):
                records.append(plain)
        except ssl.SSLWantReadError:
            is_closed = False
        count, wire_bytes = self._seen.count - before[0], self._seen.wire_bytes - before[1]
        if is_closed:
            count, wire_bytes = count - 1, wire_bytes - self._seen.last_bytes
        return Found(records, count, wire_bytes, is_closed)

    @property
    def is_within_record(self) -> bool:
        """Whether a part of a record has come, but not its end."""
        return self._seen.is_within_record

    def write(self, plain: bytes) -> None:
        """Encrypt `plain`, for the next `answer`."""
        self._tls.write(plain)

    def say_farewell(self) -> None:
        """Answer the other end's farewell. Raises OSError."""
        self._tls.unwrap()

    def answer(self) -> bytes:
        """Everything that must still be sent to the other end."""
        return self._outgoing.read()
