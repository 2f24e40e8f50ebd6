"""Reads an HDR histogram from its published format alone, with nothing of ours (hdrhistogram.org).

The encoding V2: big-endian cookie, payload length, normalizing offset, significant digits, lowest
and highest value, ratio; then ZigZag LEB128 numbers, each a bucket's count or, negative, how many
buckets are empty. Compressed: a cookie and a length before a zlib stream. In base64.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Iterator

_COMPRESSED, _PLAIN, _WORD_SIZE = 0x1C849304, 0x1C849303, 0xF0


def decoded(text: str) -> tuple[dict[int, int], int]:
    """The lowest value of each bucket → its count; and the significant digits."""
    outer = base64.b64decode(text, validate=True)
    cookie, length = struct.unpack_from(">ii", outer)
    assert cookie & ~_WORD_SIZE == _COMPRESSED
    assert len(outer) == 8 + length
    inner = zlib.decompress(outer[8:])
    cookie, length, offset, digits, lowest, _highest, ratio = struct.unpack_from(">iiiiqqd", inner)
    assert (cookie & ~_WORD_SIZE, offset, ratio) == (_PLAIN, 0, 1.0)
    assert len(inner) == 40 + length
    half = math.ceil(math.log2(2 * 10**digits)) - 1
    unit = int(math.log2(lowest))
    return {_lowest(at, half, unit): count for at, count in _counts(inner[40:])}, digits


def _counts(payload: bytes) -> Iterator[tuple[int, int]]:
    at = bucket = 0
    while at < len(payload):
        number = shift = 0
        while True:
            byte = payload[at]
            at += 1
            is_last = byte < 0x80 or shift == 56
            number |= (byte if shift == 56 else byte & 0x7F) << shift
            shift += 7
            if is_last:
                break
        count = (number >> 1) ^ -(number & 1)
        if count < 0:
            bucket -= count
        else:
            if count:
                yield bucket, count
            bucket += 1


def _lowest(index: int, half_magnitude: int, unit_magnitude: int) -> int:
    half = 1 << half_magnitude
    bucket, sub_bucket = (index >> half_magnitude) - 1, (index & (half - 1)) + half
    if bucket < 0:
        bucket, sub_bucket = 0, sub_bucket - half
    return sub_bucket << (bucket + unit_magnitude)
