"""Counts the TLS records of one direction of a connection by their headers (RFC 8446, 5.1)."""

from __future__ import annotations

_HEADER_BYTES = 5
RECORD_OVERHEAD_BYTES = 22
"""The bytes that a record adds to its plaintext: header 5, type 1, tag 16 (RFC 8446)."""
FAREWELL_BYTES = RECORD_OVERHEAD_BYTES + 2
"""The bytes of an end's farewell: the alert close_notify in a record of its own (RFC 8446)."""


class Records:
    """The number of records that began, and all their bytes on the wire, headers included.

    `last_bytes`: the bytes of the last record.
    """

    def __init__(self) -> None:
        self.count = 0
        self.wire_bytes = 0
        self.last_bytes = 0
        self._header = b""
        self._left = 0

    @property
    def is_within_record(self) -> bool:
        """Whether a part of the last record is missing."""
        return bool(self._header or self._left)

    def push(self, chunk: bytes | memoryview) -> None:
        """Count the records whose headers end in the next bytes."""
        self.wire_bytes += len(chunk)
        if self._header:
            chunk = self._header + bytes(chunk)
        begin, end = self._left, len(chunk)
        while begin + _HEADER_BYTES <= end:
            self.last_bytes = _HEADER_BYTES + (chunk[begin + 3] << 8 | chunk[begin + 4])
            begin += self.last_bytes
            self.count += 1
        self._header = bytes(chunk[begin:])
        self._left = max(0, begin - end)
