"""What `tinygram.batch` cannot use is refused at once, by an error that names it."""

from __future__ import annotations

import math
import socket
import ssl
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from tests.library.wires import Pair

import tinygram


def closed(sock: socket.socket) -> socket.socket:
    sock.close()
    return sock


def non_blocking(sock: socket.socket) -> socket.socket:
    sock.setblocking(False)
    return sock


def encrypted(sock: socket.socket) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return context.wrap_socket(sock, server_hostname="localhost", do_handshake_on_connect=False)


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (closed, "the socket is closed"),
        (non_blocking, "the socket is non-blocking: set a timeout"),
        (encrypted, "the socket speaks TLS"),
    ],
)
def test_a_connected_socket_that_cannot_be_used(
    tcp: Pair, spoil: Callable[[socket.socket], socket.socket], fault: str
) -> None:
    with spoil(tcp[0]) as spoilt, pytest.raises(ValueError, match=fault):
        tinygram.batch(spoilt)


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_SEQPACKET])
def test_a_socket_with_message_boundaries(kind: socket.SocketKind) -> None:
    ours, peer = socket.socketpair(socket.AF_UNIX, kind)
    with ours, peer, pytest.raises(ValueError, match=f"the socket is a {kind.name}"):
        tinygram.batch(ours)


def test_a_udp_socket() -> None:
    with (
        socket.socket(type=socket.SOCK_DGRAM) as udp,
        pytest.raises(ValueError, match="the socket is a SOCK_DGRAM"),
    ):
        tinygram.batch(udp)


def test_a_listening_socket_and_one_that_never_connected() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as fresh:
        for sock in (listening, fresh):
            with pytest.raises(ValueError, match="the socket is not connected"):
                tinygram.batch(sock)


@pytest.mark.parametrize("value", [None, 3, "socket", b"socket", object])
def test_what_is_no_socket(value: Any) -> None:
    with pytest.raises(TypeError, match="is not a socket") as raised:
        tinygram.batch(value)
    assert repr(value) in str(raised.value)


@pytest.mark.parametrize("value", ["text", None, 5, [b"list"], {}])
@pytest.mark.parametrize("strategy", [tinygram.nodelay, tinygram.tick], ids=str)
def test_a_message_that_is_not_bytes_like(
    unix_pair: Pair, strategy: tinygram.Strategy, value: Any
) -> None:
    with tinygram.batch(unix_pair[0], strategy=strategy) as out:
        kind = type(value).__name__
        with pytest.raises(TypeError, match=f"must be a bytes-like object, not {kind}"):
            out.send(value)
        assert (out.held_bytes, out.stats().messages) == (0, 0)


NO_NUMBERS: list[Any] = [True, "10", b"1", [], 1j]
NO_DURATIONS = [0, -1, -0.5, math.nan, math.inf, 3.7e9]


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        *product(["max_bytes", "max_buffered_bytes"], [*NO_NUMBERS, 1.5, math.nan]),
        ("max_bytes", None),  # The other one's None means: no bound.
    ],
)
def test_a_count_that_is_no_whole_number(unix_pair: Pair, knob: str, value: Any) -> None:
    with pytest.raises(TypeError) as raised:
        tinygram.batch(unix_pair[0], **{knob: value})
    assert str(raised.value) == f"{knob} is {value!r}: it must be a whole number of bytes"


@pytest.mark.parametrize("value", [0, -1, 2**40 + 1, 10**30])
@pytest.mark.parametrize("knob", ["max_bytes", "max_buffered_bytes"])
def test_a_count_outside_its_range(unix_pair: Pair, knob: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{knob} is {value}: it must be between 1 and"):
        tinygram.batch(unix_pair[0], **{knob: value})


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_a_duration_that_is_no_number(unix_pair: Pair, value: Any) -> None:
    with pytest.raises(TypeError) as raised:
        tinygram.batch(unix_pair[0], max_hold_us=value)
    assert str(raised.value) == f"max_hold_us is {value!r}: it must be a number of microseconds"
    with pytest.raises(TypeError) as raised:
        tinygram.coalesce(value)
    assert str(raised.value) == f"hold_us is {value!r}: it must be a number of microseconds"
    with pytest.raises(TypeError) as raised:
        tinygram.competitive(value)
    assert str(raised.value) == f"price_us is {value!r}: it must be a number of microseconds"


@pytest.mark.parametrize("value", NO_DURATIONS)
def test_a_duration_outside_its_range(unix_pair: Pair, value: float) -> None:
    with pytest.raises(ValueError, match=f"max_hold_us is {value!r}: it must be between 0.001 and"):
        tinygram.batch(unix_pair[0], max_hold_us=value)
    with pytest.raises(ValueError, match=f"hold_us is {value!r}: it must be between 0.001 and"):
        tinygram.coalesce(value)
    with pytest.raises(ValueError, match=f"price_us is {value!r}: it must be between 0.001 and"):
        tinygram.competitive(value)


@pytest.mark.parametrize("value", ["nodelay", None, 10, tinygram.coalesce])
def test_a_strategy_that_is_none(unix_pair: Pair, value: Any) -> None:
    with pytest.raises(TypeError, match="it must be tinygram") as raised:
        tinygram.batch(unix_pair[0], strategy=value)
    assert repr(value) in str(raised.value)
    assert "nagle, coalesce(hold_us) or competitive(price_us)" in str(raised.value)


def test_a_strategy_that_was_made_up(unix_pair: Pair) -> None:
    with pytest.raises(ValueError, match='unknown strategy "warp"'):
        tinygram.batch(unix_pair[0], strategy=tinygram.Strategy("warp"))


def test_a_knob_that_there_is_not(unix_pair: Pair) -> None:
    with pytest.raises(TypeError, match="max_byte"):
        tinygram.batch(unix_pair[0], max_byte=1)  # type: ignore[call-arg]
