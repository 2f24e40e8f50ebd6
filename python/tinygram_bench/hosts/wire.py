"""The control connection between two hosts: what is said on it, and how it is kept within bounds.

The server greets first, in one line, so that nothing is sent to a server that is not ours. Unless
both addresses are loopback's, TLS begins after the greeting (keys.py). From then on both sides send
lines of JSON: the client a `Hello`, the server a `Welcome`, and then the types below.

Law: a line is read into one of these types or refused; nothing in them names a file, a command or
an address, and no text from the wire is run, imported or opened.
"""

from __future__ import annotations

import ipaddress
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from tinygram_bench.model.plain_text import printable
from tinygram_bench.model.value import Value

if TYPE_CHECKING:
    import asyncio

VERSION = 4
PORT = 5201
MAX_ORDER_BYTES = 1 << 16
"""The longest line that a server reads."""
MAX_ANSWER_BYTES = 1 << 20
"""The longest line that a client reads."""
PART_BYTES = 1 << 18
"""Files are brought over in parts of at most this length."""
MAX_FILES = 3
TOKEN_BYTES = 16
"""The length of the token with which data connections begin (crates/load, socket/admission.rs)."""
_GREETING = re.compile(rb"tinygram serve ([0-9]{1,6}) ([0-9a-f]{16}|-)\n")
MAX_GREETING_BYTES = 64
_SHOWN = 1_000

Number = Annotated[int, msgspec.Meta(ge=0, le=(1 << 16) - 1)]
"""The number that the client gave a process of the far host."""
Word = Annotated[str, msgspec.Meta(max_length=80)]
Token = Annotated[bytes, msgspec.Meta(min_length=TOKEN_BYTES, max_length=TOKEN_BYTES)]


class Hello(Value, frozen=True, tag=True):
    """The client's first line. `tinygram`: the package's version, which must be the server's."""

    version: int
    tinygram: Word


class Begin(Value, frozen=True, tag=True):
    """Start a process of a program that the server knows by this name (far/programs.py).

    `files`: how many files in memory it writes, which are brought over before its answers.
    """

    number: Number
    program: Word
    placement: Word
    counts_writes: bool
    files: Annotated[int, msgspec.Meta(ge=0, le=MAX_FILES)]


class Tell(Value, frozen=True, tag=True):
    """An order to a process, which the server reads, checks, and writes anew."""

    number: Number
    order: msgspec.Raw


class Dismiss(Value, frozen=True, tag=True):
    """Give a process no more orders. One that does not end by itself is ended."""

    number: Number


class AskUsed(Value, frozen=True, tag=True):
    """Ask how much CPU time a process has used; a `Used` answers."""

    number: Number


class Welcome(Value, frozen=True, tag=True):
    """The server's first line to a client that it serves: the environment of its host.

    `token`: drawn for this control connection; its data connections begin with the token.
    """

    environment: dict[str, Any]
    token: Token


class Queued(Value, frozen=True, tag=True):
    """Another client is being served, and `before` wait before this one."""

    before: int


class Said(Value, frozen=True, tag=True):
    """A line that a process has answered."""

    number: Number
    line: msgspec.Raw


class Left(Value, frozen=True, tag=True):
    """The next part of what a process has left in one of its files."""

    number: Number
    file: Annotated[int, msgspec.Meta(ge=0, lt=MAX_FILES)]
    part: bytes


class Used(Value, frozen=True, tag=True):
    """The CPU time of a process so far, in ns; None where it has ended."""

    number: Number
    cpu_ns: int | None


class Ended(Value, frozen=True, tag=True):
    """A process has ended; `failure` is None where it did not fail."""

    number: Number
    failure: str | None


class Refused(Value, frozen=True, tag=True):
    """The server ends the connection, for this reason."""

    reason: str


Order = Begin | Tell | Dismiss | AskUsed
Answer = Welcome | Queued | Said | Left | Used | Ended | Refused

hello_of = msgspec.json.Decoder(Hello).decode
order_of = msgspec.json.Decoder(Order).decode
answer_of = msgspec.json.Decoder(Answer).decode


def line_of(message: Hello | Order | Answer) -> bytes:
    """The message as it goes over the connection."""
    return msgspec.json.encode(message) + b"\n"


def greeting(key_name: str | None) -> bytes:
    """The server's first bytes; `key_name`: the name of its key, None: it has none."""
    return f"tinygram serve {VERSION} {key_name or '-'}\n".encode()


def greeted(line: bytes) -> tuple[int, str | None] | None:
    """The version and the key's name in a greeting; None where the line is no greeting."""
    found = _GREETING.fullmatch(line)
    if found is None:
        return None
    name = found[2].decode()
    return int(found[1]), None if name == "-" else name


def shown(text: str) -> str:
    """A text from the other host, in a form that is safe to show on a terminal."""
    return printable(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def address_of(host: str) -> str:
    """An address as a socket gives it, with an IPv4 address mapped into IPv6 as plain IPv4."""
    known = ipaddress.ip_address(host)
    mapped = known.ipv4_mapped if isinstance(known, ipaddress.IPv6Address) else None
    return str(mapped or known)


def is_loopback(host: str) -> bool:
    """Whether an address is loopback's, of IPv4 or IPv6: no other machine is behind it."""
    return ipaddress.ip_address(address_of(host)).is_loopback


def abort(writer: asyncio.StreamWriter) -> None:
    """End a connection at once."""
    # Python 3.11.2 has nothing left to abort, and raises this, once TLS was closed twice.
    with suppress(AttributeError):
        writer.transport.abort()
