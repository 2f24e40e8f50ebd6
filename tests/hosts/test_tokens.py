"""Data connections begin with the token of the control connection: without it nobody is served."""

from __future__ import annotations

import base64
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import msgspec
import pytest
from tests.hosts.far_server import (
    LIMIT_S,
    all_of,
    answer_of,
    far_server,
    line_of,
    with_token,
)
from tests.hosts.test_control_traffic import BEGIN, RECEIVE, SEND

from tinygram.strategies import Strategy
from tinygram_bench import _native
from tinygram_bench.tls.certificates import ELSEWHERE
from tinygram_bench.workloads.echo import order as echo
from tinygram_bench.workloads.echo.servers import SERVERS, Server
from tinygram_bench.workloads.rr import order as rr
from tinygram_bench.workloads.sizes import order as sizes

KERNEL_GIVES_UP_S = 40.0
"""It asks a silent connection once more after 1, 3 and 7 s (tcp(7), TCP_DEFER_ACCEPT); a host that
runs other tests may take longer, and one after the other they would take far longer."""
ADMITTED = _native.Admission.ADMITTED
WORKLOADS = "tinygram_bench.workloads"


def order_of(value: object) -> dict[str, object]:
    return msgspec.json.decode(msgspec.json.encode(value), type=dict[str, object])


def rr_order(runtime: str) -> dict[str, object]:
    return order_of(
        rr.ServerOrder(
            runtime=runtime,
            request_bytes=5,
            reply_bytes=5,
            seed=1,
            # Silent connections in a full queue would be made by SYN cookies, which know no token.
            backlog=64,
            strategy="nodelay",
            has_quickack=False,
            congestion_control="reno",
        )
    )


def echo_order(server: Server, has_tls: bool) -> object:
    return order_of(
        echo.ServerOrder(
            runtime=server.runtime,
            implementation=server.implementation,
            server=server.name,
            strategy=Strategy(
                "nodelay" if server.implementation != "tinygram" else "adaptive", None
            ),
            reply=echo.PER_READ,
            message_bytes=5,
            buffer_bytes=1_000,
            fault=None,
            connections=2,
            congestion_control="reno",
            tls=ELSEWHERE if has_tls else None,
        )
    )


SERVERS_HERE = [each for each in SERVERS if each.missing() is None]
ACCEPTING: dict[str, tuple[str, int, object]] = {
    "stream": (f"{WORKLOADS}.stream.receiver", 2, RECEIVE),
    "stream that the far end sends": (f"{WORKLOADS}.stream.sender", 1, SEND),
    "stream on many connections": (
        f"{WORKLOADS}.stream.receiver",
        2,
        RECEIVE | {"connections": 2},
    ),
    **{
        f"rr {name}": (f"{WORKLOADS}.rr.server", 0, rr_order(name))
        for name in ("native", "asyncio", "uvloop")
    },
    **{
        f"echo {each.runtime}/{each.implementation}/{each.name}{' over TLS' * has_tls}": (
            f"{WORKLOADS}.echo.server",
            0,
            echo_order(each, has_tls),
        )
        for each in SERVERS_HERE
        for has_tls in ((False, True) if each.has_tls else (False,))
    },
    "sizes": (
        f"{WORKLOADS}.sizes.server",
        0,
        order_of(sizes.ServerOrder(1, 10, 1, "reno", "127.0.0.1")),
    ),
    "the clock": ("tinygram_bench.hosts.clock_server", 0, {}),
}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with far_server() as found:
        yield found


def listening(port: int, name: str) -> tuple[socket.socket, bytes, int]:
    """A control connection, its token, and where the process listens that it has had started."""
    program, files, order = ACCEPTING[name]
    sock, token = with_token(port)
    sock.sendall(line_of(BEGIN | {"program": program, "files": files}))
    sock.sendall(line_of({"type": "Tell", "number": 0, "order": order}))
    said = answer_of(sock)
    assert said["type"] == "Said", said
    line = said["line"]
    assert isinstance(line, dict)
    return sock, token, int(line["port"])


def brings(data_port: int, *parts: bytes) -> bytes:
    """What a data connection that brings these gets until it is ended."""
    with socket.create_connection(("127.0.0.1", data_port), LIMIT_S) as sock:
        with suppress(OSError):
            for part in parts:
                sock.sendall(part)
        return all_of(sock)


def admitted(data_port: int, token: bytes) -> socket.socket:
    """A data connection that was taken."""
    sock = socket.create_connection(("127.0.0.1", data_port), LIMIT_S)
    sock.sendall(token)
    assert sock.recv(1) == ADMITTED
    return sock


@pytest.mark.parametrize("name", ACCEPTING)
def test_whoever_has_no_token_is_turned_away_and_the_client_is_served(port: int, name: str) -> None:
    control, token, data_port = listening(port, name)
    with control, socket.create_connection(("127.0.0.1", data_port), LIMIT_S):
        # One that says nothing holds up nobody.
        assert brings(data_port, b"GET / HTTP/1.1\r\n\r\n") == b""
        assert brings(data_port, token[:-1]) == b""
        assert brings(data_port, token[:-1] + bytes([token[-1] ^ 1])) == b""
        admitted(data_port, token).close()


def test_the_token_of_an_earlier_control_connection_is_turned_away(port: int) -> None:
    control, earlier, _ = listening(port, "sizes")
    control.close()
    control, token, data_port = listening(port, "sizes")
    with control:
        assert token != earlier
        assert brings(data_port, earlier) == b""
        admitted(data_port, token).close()


def test_a_client_cannot_choose_its_token(port: int) -> None:
    program, files, order = ACCEPTING["rr native"]
    assert isinstance(order, dict)
    chosen = b"A" * 16
    control, token = with_token(port)
    with control:
        control.sendall(line_of(BEGIN | {"program": program, "files": files}))
        asked = order | {"client": {"token": base64.b64encode(chosen).decode()}}
        control.sendall(line_of({"type": "Tell", "number": 0, "order": asked}))
        line = answer_of(control)["line"]
        assert isinstance(line, dict)
        assert brings(line["port"], chosen) == b""
        admitted(line["port"], token).close()


def test_whoever_never_brings_a_token_is_turned_away_in_time_and_counted(port: int) -> None:
    control, token, data_port = listening(port, "rr native")
    with control:
        silent = [socket.create_connection(("127.0.0.1", data_port), LIMIT_S) for _ in range(20)]
        began_s = time.monotonic()
        with admitted(data_port, token):
            # It has come before the kernel has given up any of those that were first.
            assert select.select(silent, [], [], 0)[0] == []
            for sock in silent:
                assert all_of(sock) == b""
                sock.close()
        assert time.monotonic() - began_s < KERNEL_GIVES_UP_S
        control.sendall(line_of({"type": "Tell", "number": 0, "order": {}}))
        counters = answer_of(control)["line"]
        assert isinstance(counters, dict)
    assert counters["strangers"] == len(silent)


def test_the_segment_of_a_token_is_not_counted_in_sizes() -> None:
    """Segments with data are those of messages alone."""
    segments = {}
    for token in (None, b"0123456789abcdef"):
        known = _native.Admission(None, token)
        server = _native.SizesServer(0, 1_000, 10, 10, "reno", client=known)
        cells = [(f"127.0.0.1:{server.port}", 100, 2, False, True)]
        thread = threading.Thread(target=server.serve, args=(4,), daemon=True)
        thread.start()
        ((counters, _, _, failure),) = _native.take_samples(
            cells, "reno", 1, 1, 10**10, 1, 2, known
        )
        assert failure is None
        thread.join(LIMIT_S)
        assert not thread.is_alive()
        segments[token] = dict(counters)["data_segments"]
    assert len(set(segments.values())) == 1, segments


def test_a_client_that_is_turned_away_is_told_so() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as sock,
    ):
        listener.accept()[0].close()
        known = _native.Admission(None, b"0" * 16)
        with pytest.raises(ConnectionRefusedError, match="does not know its token"):
            known.introduce(sock.fileno(), 10**10)


@pytest.mark.parametrize("token", [b"", b"0" * 15, b"0" * 17])
def test_a_token_of_another_length_is_none(token: bytes) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        _native.Admission(None, token)
