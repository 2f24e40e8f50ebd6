"""Options whose values are quantities, which are read with their units.

They are read before anything else is looked at, so that a typo is reported at once, with the name
of the option. Defaults are in the unit of the value: nanoseconds, bytes, bits or messages per
second; help shows `default`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.units import (
    MAX_MESSAGE_BYTES,
    format_bytes,
    parse_bit_rate,
    parse_bytes,
    parse_count,
    parse_duration_ns,
    parse_message_bytes,
    parse_percent,
    parse_rate,
)


def count(help: str, default: str | None = None) -> Any:
    """A whole number, such as `200000` or `200k`."""
    return _quantity(parse_count, "COUNT", help, default)


def duration(help: str, default: str | None = None) -> Any:
    """A duration such as `10us`, in nanoseconds."""
    return _quantity(parse_duration_ns, "DURATION", help, default)


def size(help: str, default: str | None = None, max_bytes: int = MAX_MESSAGE_BYTES) -> Any:
    """A size such as `64KiB`, 1 to `max_bytes` bytes."""

    def read(text: str) -> int:
        bytes_ = parse_bytes(text)
        if bytes_ > max_bytes:
            raise UsageError(f"{text!r} is above {format_bytes(max_bytes)}")
        return bytes_

    return _quantity(read, "SIZE", help, default)


def message_sizes(help: str, default: str | None = None) -> Any:
    """One size or a range of them, such as `1-500`, as `MessageBytes`."""
    return _quantity(parse_message_bytes, "SIZE[-SIZE]", help, default)


def rate(help: str, default: str | None = None) -> Any:
    """Messages per second, such as `10k`."""
    return _quantity(parse_rate, "RATE", help, default)


def bandwidth(help: str, default: str | None = None) -> Any:
    """A bandwidth such as `100mbit`, in bits per second."""
    return _quantity(parse_bit_rate, "BANDWIDTH", help, default)


def share(help: str, default: str | None = None) -> Any:
    """A share such as `2%`, as a number (0.02)."""
    return _quantity(lambda text: float(parse_percent(text)), "SHARE", help, default)


def _quantity(parse: Callable[[str], object], metavar: str, help: str, default: str | None) -> Any:
    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value  # A default is no text, but a value.
        try:
            return parse(value)
        except UsageError as error:
            raise typer.BadParameter(str(error)) from error

    return typer.Option(parser=read, metavar=metavar, help=help, show_default=default or False)
