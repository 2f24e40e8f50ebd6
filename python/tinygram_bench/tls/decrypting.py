"""The end of an encrypted connection that answers, without a socket: bytes in, bytes out.

It counts the records that bring data by their headers, and the handshake and the farewell not.
"""

from __future__ import annotations

import ssl
from typing import NamedTuple

from tinygram_bench.tls.contexts import MOST_RECORD_BYTES, check_agreed
from tinygram_bench.tls.records import Records


class Found(NamedTuple):
    """The plaintext of each record that is whole, and what came of records with data.

    `record_count`: how many began; `wire_bytes`: what came of them, headers included.
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
        """The other end has sent these bytes. Raises OSError, where the handshake fails, too."""
        self._incoming.write(chunk)
        if not self._has_shaken_hands:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                return Found([], 0, 0, is_closed=False)
            check_agreed(self._tls)
            self._has_shaken_hands = True
            # What the handshake left is its last bytes: records are taken from it one by one.
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
        """Whether a part of a record has come, and its end has not."""
        return self._seen.is_within_record

    def write(self, plain: bytes) -> None:
        """Encrypt it into what `answer` has next."""
        self._tls.write(plain)

    def say_farewell(self) -> None:
        """The last thing to say, once the other end has. Raises OSError."""
        self._tls.unwrap()

    def answer(self) -> bytes:
        """Everything that is to be sent to the other end, and was not."""
        return self._outgoing.read()
