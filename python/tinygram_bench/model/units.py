"""Quantities as people write them on the command line: `10us`, `1-500`, `64KiB`, `10k`.

Durations become whole nanoseconds, sizes whole bytes, rates messages per second. Arithmetic is in
fractions, so that `0.1us` is exactly 100 ns.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

# `format_duration_ns` is the inverse of `parse_duration_ns`, and how case names write durations.
from tinygram.strategies import format_duration_ns as format_duration_ns
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import MessageBytes

if TYPE_CHECKING:
    from fractions import Fraction

MAX_MESSAGE_BYTES = 1 << 30

_NS_PER_UNIT = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PREFIXES = {"k": 1_000, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000}
_BINARY_PREFIXES = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
_BYTES_PER_UNIT = {
    prefix + unit: bytes_
    for prefix, bytes_ in ({"": 1} | _PREFIXES | _BINARY_PREFIXES).items()
    for unit in ("", "B")
}
_COUNT_PER_UNIT = {"": 1} | _PREFIXES
_BITS_PER_UNIT = {"bit": 1, "kbit": 1_000, "mbit": 1_000_000, "gbit": 1_000_000_000}

# Twenty digits are more than any quantity here needs; without a limit int() itself would refuse.
_DECIMALS = 20
_QUANTITY = re.compile(
    rf"(?P<number>[0-9]{{1,20}}(?:\.[0-9]{{1,{_DECIMALS}}})?) ?(?P<unit>[a-zA-Zµ]*)", re.ASCII
)

_DURATION_HELP = f"write a number and a unit ({', '.join(_NS_PER_UNIT)}), for example 10us"
_SIZE_HELP = (
    "write bytes, or a number with k, M, G (1 k = 1,000) or Ki, Mi, Gi (1 Ki = 1,024), for example "
    "64KiB"
)
_RATE_HELP = "write messages per second, k and M allowed, for example 1000 or 10k"
_COUNT_HELP = "write a whole number, k, M and G allowed, for example 200000 or 200k"
_BIT_RATE_HELP = "write a number with bit, kbit, mbit or gbit, for example 100mbit"
_PERCENT_HELP = "write a number and %, for example 0.1%"


def parse_duration_ns(text: str) -> int:
    """Read a duration above zero, such as `10us`, in nanoseconds.

    Raises UsageError when the unit is missing or unknown, or when the duration is no whole number
    of nanoseconds above 0.
    """
    fault = f"{text!r} is not a duration: {_DURATION_HELP}"
    number, unit = _quantity(text, fault)
    if not unit:
        raise UsageError(f"the duration {text!r} has no unit: {_DURATION_HELP}")
    if unit == "µs":
        unit = "us"
    if unit not in _NS_PER_UNIT:
        raise UsageError(f"the duration {text!r} has an unknown unit {unit!r}: {_DURATION_HELP}")
    return _whole_above_zero(number * _NS_PER_UNIT[unit], text, "a whole number of ns above 0")


def parse_bytes(text: str) -> int:
    """Read a size above zero, such as `256KiB`, in bytes. Raises UsageError."""
    number, unit = _quantity(text, f"{text!r} is not a size: {_SIZE_HELP}")
    if unit not in _BYTES_PER_UNIT:
        raise UsageError(f"the size {text!r} has an unknown unit {unit!r}: {_SIZE_HELP}")
    return _whole_above_zero(
        number * _BYTES_PER_UNIT[unit], text, "a whole number of bytes above 0"
    )


def format_bytes(size_bytes: int) -> str:
    """Write a size in the largest binary unit that leaves a whole number: 65_536 → `64KiB`."""
    for unit in ("GiB", "MiB", "KiB"):
        if size_bytes and size_bytes % _BYTES_PER_UNIT[unit] == 0:
            return f"{size_bytes // _BYTES_PER_UNIT[unit]}{unit}"
    return f"{size_bytes}B"


def parse_message_bytes(text: str) -> MessageBytes:
    """Read message sizes: one (`100`, `64KiB`) or a range with both ends included (`1-500`).

    A range may also be written `1..500`, or as tables print it: `1–500 B`. Raises UsageError for
    sizes below 1 byte or above 1 GiB, and for reversed ranges.
    """
    low_text, *more = re.split(r"\.\.|-|–", text, maxsplit=1)
    low = _message_size(low_text, text)
    high = _message_size(more[0], text) if more else low
    if low > high:
        raise UsageError(
            f"the sizes {text!r} are reversed: write the smaller first, "
            f"{more[0].strip()}-{low_text.strip()}"
        )
    return MessageBytes(min=low, max=high)


def parse_rate(text: str) -> float:
    """Read a message rate above zero, such as `1000` or `10k`, per second. Raises UsageError."""
    number, unit = _quantity(text, f"{text!r} is not a rate: {_RATE_HELP}")
    if unit not in _COUNT_PER_UNIT:
        raise UsageError(f"the rate {text!r} has an unknown unit {unit!r}: {_RATE_HELP}")
    rate_per_s = float(number * _COUNT_PER_UNIT[unit])
    if rate_per_s <= 0:
        raise UsageError(f"the rate {text!r} is not above 0: {_RATE_HELP}")
    return rate_per_s


def parse_count(text: str) -> int:
    """Read a whole number such as `200000` or `200k`. Raises UsageError."""
    digits = text.strip().removeprefix("-")
    number, unit = _quantity(digits, f"{text!r} is not a number: {_COUNT_HELP}")
    if unit not in _COUNT_PER_UNIT:
        raise UsageError(f"the number {text!r} has an unknown unit {unit!r}: {_COUNT_HELP}")
    count = number * _COUNT_PER_UNIT[unit]
    if count != int(count):
        raise UsageError(f"{text!r} is not a whole number")
    return -int(count) if text.strip().startswith("-") else int(count)


def parse_bit_rate(text: str) -> int:
    """Read a bandwidth above zero, such as `100mbit` or `2.5gbit`, in bits per second.

    Raises UsageError.
    """
    number, unit = _quantity(text, f"{text!r} is not a bandwidth: {_BIT_RATE_HELP}")
    if not unit:
        raise UsageError(f"the bandwidth {text!r} has no unit: {_BIT_RATE_HELP}")
    if unit.lower() not in _BITS_PER_UNIT:
        raise UsageError(f"the bandwidth {text!r} has an unknown unit {unit!r}: {_BIT_RATE_HELP}")
    bits = number * _BITS_PER_UNIT[unit.lower()]
    return _whole_above_zero(bits, text, "a whole number of bits per second above 0")


def format_bit_rate(bits_per_s: int) -> str:
    """Write a bandwidth in the largest unit that leaves a whole number: `100mbit`."""
    for unit in ("gbit", "mbit", "kbit"):
        if bits_per_s and bits_per_s % _BITS_PER_UNIT[unit] == 0:
            return f"{bits_per_s // _BITS_PER_UNIT[unit]}{unit}"
    return f"{bits_per_s}bit"


def parse_percent(text: str) -> Fraction:
    """Read a share such as `0.1%`: 1/1000. Raises UsageError."""
    number, unit = _quantity(text.removesuffix("%"), f"{text!r} is not a share: {_PERCENT_HELP}")
    if unit or not text.strip().endswith("%"):
        raise UsageError(f"{text!r} is not a share: {_PERCENT_HELP}")
    return number / 100


def format_percent(share: Fraction) -> str:
    """The inverse of `parse_percent`, digit by digit, without needless zeros."""
    whole, rest = divmod((share * 100 * 10**_DECIMALS).numerator, 10**_DECIMALS)
    decimals = f"{rest:0{_DECIMALS}}".rstrip("0")
    return f"{whole}.{decimals}%" if decimals else f"{whole}%"


def _message_size(text: str, whole: str) -> int:
    try:
        size = parse_bytes(text)
    except UsageError as error:
        if text == whole:
            raise
        raise UsageError(f"in the sizes {whole!r}: {error}") from error
    if size > MAX_MESSAGE_BYTES:
        raise UsageError(f"the size {text!r} is above 1 GiB: messages have 1 B to 1 GiB")
    return size


def _quantity(text: str, fault: str) -> tuple[Fraction, str]:
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise UsageError(fault)
    # Imported only here: most processes read no quantity.
    from fractions import Fraction

    return Fraction(match["number"]), match["unit"]


def _whole_above_zero(number: Fraction, text: str, wanted: str) -> int:
    if number <= 0 or number != int(number):
        raise UsageError(f"{text!r} is not {wanted}")
    return int(number)
