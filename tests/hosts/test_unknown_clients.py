"""Before a client is authenticated: injected, replayed, slow and interrupted traffic."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import NoReturn

import pytest
from tests.hosts.far_server import (
    HELLO,
    LIMIT_S,
    LIMITS,
    all_of,
    answer_of,
    connected,
    far_server,
    line_of,
    welcomed,
)

from tinygram_bench.far import server
from tinygram_bench.host.write_counter import counting
from tinygram_bench.hosts import line, wire
from tinygram_bench.hosts.address import FarAddress
from tinygram_bench.hosts.keys import Keys, make_keys, name_of
from tinygram_bench.hosts.line import Line
from tinygram_bench.model.errors import UsageError

STRANGER_S = 1.0
VERSION = str(HELLO["tinygram"])


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Keys, Keys]:
    """Those of a server and its client, between whom other machines may be."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(wire, "is_loopback", lambda _: False)
    server_keys, client_keys = make_keys()
    monkeypatch.setattr(line, "client_keys", lambda _: client_keys)
    return server_keys, client_keys


@pytest.fixture
def beyond(keys: tuple[Keys, Keys]) -> Iterator[int]:
    """The port of a server for clients on other machines."""
    with far_server(keys[0]) as port:
        yield port


def encrypted(sock: socket.socket, keys: Keys) -> ssl.SSLSocket:
    return keys.context(is_server=False).wrap_socket(sock)


def check_serves(port: int, keys: Keys) -> None:
    with encrypted(connected(port), keys) as sock:
        sock.sendall(line_of(HELLO))
        assert answer_of(sock)["type"] == "Welcome"


def test_what_comes_before_tls_is_not_taken_for_what_comes_through_it(
    beyond: int, keys: tuple[Keys, Keys]
) -> None:
    with connected(beyond) as sock:
        sock.sendall(line_of(HELLO))
        with suppress(OSError), encrypted(sock, keys[1]) as inside:
            assert b"Welcome" not in all_of(inside)
    check_serves(beyond, keys[1])


def test_a_client_takes_no_answer_that_came_before_tls(keys: tuple[Keys, Keys]) -> None:
    context = keys[0].context(is_server=True)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            sock, _ = listener.accept()
            welcome = wire.line_of(wire.Welcome({"injected": True}, b"0" * wire.TOKEN_BYTES))
            sock.sendall(wire.greeting(name_of(keys[0].own_certificate)) + welcome)
            with suppress(OSError), context.wrap_socket(sock, server_side=True) as inside:
                all_of(inside)

        thread = threading.Thread(target=serve)
        thread.start()
        port = listener.getsockname()[1]
        with pytest.raises(UsageError, match="ended the connection before it answered"):
            Line(FarAddress("it", "127.0.0.1", port), VERSION, lambda _: None)
        thread.join()


def test_a_replayed_connection_is_turned_away(beyond: int, keys: tuple[Keys, Keys]) -> None:
    """Every byte that a client had sent, sent once more, begins nothing."""
    context = keys[1].context(is_server=False)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing)
    sent = b""
    with connected(beyond) as sock:

        def exchange(act: object) -> None:
            nonlocal sent
            while True:
                try:
                    act()  # type: ignore[operator]
                    is_done = True
                except ssl.SSLWantReadError:
                    is_done = False
                said = outgoing.read()
                sent += said
                sock.sendall(said)
                if is_done:
                    return
                incoming.write(sock.recv(1 << 16))

        exchange(tls.do_handshake)
        exchange(lambda: tls.write(line_of(HELLO)))
        found = b""

        def hear() -> None:
            nonlocal found
            while not found.endswith(b"\n"):
                found += tls.read(1 << 16)

        exchange(hear)
    assert b"Welcome" in found
    with connected(beyond) as sock:
        with suppress(OSError):
            sock.sendall(sent)
        assert b"Welcome" not in all_of(sock)
    check_serves(beyond, keys[1])


SLOW = {
    "nothing at all": b"",
    "a Hello byte by byte": b'{"type":"Hello","version":1,' + b" " * 1_000,
    "a TLS hello byte by byte": bytes.fromhex("160301020001") + b"\0" * 1_000,
}


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.parametrize("is_beyond", [False, True])
def test_a_slow_stranger_is_turned_away_in_time(
    name: str, is_beyond: bool, keys: tuple[Keys, Keys], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_STRANGER_S", STRANGER_S)
    monkeypatch.setattr(wire, "is_loopback", lambda _: not is_beyond)
    with far_server(keys[0]) as port, connected(port) as sock:
        begun_s = time.monotonic()
        sock.settimeout(0.02)
        rest = SLOW[name]
        while time.monotonic() - begun_s < LIMIT_S:
            try:
                sock.sendall(rest[:1])
                rest = rest[1:]
                if not sock.recv(1 << 16):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        took_s = time.monotonic() - begun_s
        assert took_s < LIMIT_S / 2


def test_a_handshake_that_is_interrupted_costs_nothing_that_stays(
    beyond: int, keys: tuple[Keys, Keys]
) -> None:
    tls = keys[1].context(is_server=False).wrap_bio(ssl.MemoryBIO(), outgoing := ssl.MemoryBIO())
    with suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    hello = outgoing.read()
    for end in (1, 5, 100, len(hello) - 1, len(hello)):
        for _ in range(8):
            with connected(beyond) as sock:
                sock.sendall(hello[:end])
    check_serves(beyond, keys[1])


@pytest.mark.parametrize("place", ["a record's length", "a record's end"])
def test_a_record_that_was_changed_on_the_way_ends_the_connection_and_the_next_is_served(
    place: str, beyond: int, keys: tuple[Keys, Keys]
) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = keys[1].context(is_server=False).wrap_bio(incoming, outgoing)
    with connected(beyond) as sock:
        while True:
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                sock.sendall(outgoing.read())
                incoming.write(sock.recv(1 << 16))
                continue
            break
        sock.sendall(outgoing.read())
        tls.write(line_of(HELLO))
        record = bytearray(outgoing.read())
        record[4 if place == "a record's length" else -1] ^= 1
        with suppress(OSError):
            sock.sendall(record)
            sock.shutdown(socket.SHUT_WR)
        incoming.write(all_of(sock))
        with suppress(ssl.SSLError):  # The server's alert, or nothing more.
            while part := tls.read(1 << 16):
                assert b"Welcome" not in part
    check_serves(beyond, keys[1])


def test_a_client_with_no_certificate_is_turned_away(beyond: int, keys: tuple[Keys, Keys]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with suppress(OSError), context.wrap_socket(connected(beyond)) as sock:
        sock.sendall(line_of(HELLO))
        assert b"Welcome" not in all_of(sock)
    check_serves(beyond, keys[1])


def test_older_tls_is_refused(beyond: int, keys: tuple[Keys, Keys]) -> None:
    context = keys[1].context(is_server=False)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    with connected(beyond) as sock, pytest.raises(ssl.SSLError, match=r"PROTOCOL|EOF"):
        context.wrap_socket(sock)


def test_only_so_many_strangers_are_heard_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_STRANGER_S", LIMIT_S)
    with far_server() as port, ExitStack() as stack:
        for _ in range(server._STRANGERS):
            stack.enter_context(connected(port))
        with socket.create_connection(("127.0.0.1", port), LIMIT_S) as one_more:
            assert all_of(one_more) == b""


def test_who_is_turned_away_again_and_again_fills_no_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "_QUIET_S", LIMIT_S)
    with far_server() as port:
        for _ in range(20):
            with connected(port) as sock:
                sock.sendall(b"no greeting\n")
                assert b"Refused" in all_of(sock)
    assert capfd.readouterr().err.count("turned 127.0.0.1 away: ") == 1


def test_strangers_whose_time_is_up_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_STRANGER_S", STRANGER_S)
    with far_server() as port:
        silent = [connected(port) for _ in range(server._STRANGERS)]
        for sock in silent:
            assert all_of(sock) == b""  # Their time is up.
            sock.close()
        # Whoever comes now may be slow, as a busy host makes it.
        monkeypatch.setattr(server, "_STRANGER_S", LIMIT_S)
        welcomed(port).close()


class _Accepts(asyncio.SelectorEventLoop):
    """Accepts nothing: each time the next of these errors, the last of which is the listener's."""

    def __init__(self) -> None:
        super().__init__()
        self.errnos = [errno.ECONNABORTED, errno.EPROTO, errno.EPERM, errno.EHOSTUNREACH]
        self.errnos += [errno.ENETDOWN, errno.EBADF, errno.EMFILE]

    async def sock_accept(self, _sock: socket.socket) -> NoReturn:
        code = self.errnos.pop(0)
        raise OSError(code, os.strerror(code))


def test_a_connection_that_failed_before_it_was_accepted_is_no_fault_of_the_listener() -> None:
    loop = _Accepts()
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        counting() as library,
        closing(loop),
        pytest.raises(OSError, match=os.strerror(errno.EBADF)),
    ):
        loop.run_until_complete(server.Server(LIMITS, None, library).run(listener))
    assert loop.errnos == [errno.EMFILE]
