"""Where a server is: addresses of IPv4 and IPv6, and names that have either."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hosts.far_server import HELLO, LIMIT_S, far_server
from tests.support.command import Refused
from tests.support.serve_command import serving

from tinygram_bench.cli.options import far_end
from tinygram_bench.hosts import wire
from tinygram_bench.hosts.address import FarAddress, names_port, parse_server
from tinygram_bench.hosts.far_host import FarHost
from tinygram_bench.hosts.line import Line
from tinygram_bench.model.errors import UsageError

VERSION = str(HELLO["tinygram"])
READ = {
    "127.0.0.1": ("127.0.0.1", wire.PORT),
    "127.0.0.1:7000": ("127.0.0.1", 7000),
    "localhost": ("localhost", wire.PORT),
    "localhost:1": ("localhost", 1),
    "::1": ("::1", wire.PORT),
    "[::1]": ("::1", wire.PORT),
    "[::1]:65535": ("::1", 65_535),
    "2001:db8::7": ("2001:db8::7", wire.PORT),
    "[::ffff:127.0.0.1]:9": ("::ffff:127.0.0.1", 9),
}
REFUSED = (
    *("", ":1", "[]", "[::1", "::1]", "[::1]:", "[::1]:0", "[::1]:65536", "[::1]7000"),
    *("1::2::3", "127.0.0.1:0", "127.0.0.1:65536", "a b", "host:port", "[localhost]:1", "::zz"),
)


@pytest.mark.parametrize("text", READ)
def test_a_server_is_read(text: str) -> None:
    assert parse_server(text) == FarAddress(text, *READ[text])
    assert names_port(text) == (READ[text][1] != wire.PORT)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_server_is_refused_with_an_example_of_each_kind(text: str) -> None:
    with pytest.raises(UsageError, match=r"--server \[2001:db8::7\]:5201"):
        parse_server(text)


def test_an_address_of_one_link_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="an address of one link alone"):
        parse_server("fe80::1")


def test_nobody_is_asked_whether_a_server_on_our_port_is_ours() -> None:
    found = far_end(f"127.0.0.1:{wire.PORT}")
    assert found is not None
    assert found.port == wire.PORT


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [("::1", True), ("127.8.9.1", True), ("::ffff:127.0.0.1", True), ("2001:db8::1", False)],
)
def test_what_is_loopback_is_told_of_both_kinds(host: str, is_ours: bool) -> None:
    assert wire.is_loopback(host) == is_ours


def test_an_address_of_ipv4_is_the_same_on_a_socket_of_ipv6() -> None:
    assert wire.address_of("::ffff:192.0.2.7") == "192.0.2.7"
    assert wire.address_of("2001:DB8:0::7") == "2001:db8::7"


def test_a_name_with_addresses_of_both_kinds_is_reached_by_the_one_that_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = socket.getaddrinfo

    def both(host: str, port: int, *rest: int, **named: int) -> object:
        if host != "far.example":
            return known(host, port, *rest, **named)
        return [*known("::1", port, **named), *known("127.0.0.1", port, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    with far_server() as port:
        found = Line(FarAddress("it", "far.example", port), VERSION, lambda _: None)
        try:
            assert found.far_address == "127.0.0.1"
        finally:
            found.close()


@pytest.fixture
def six() -> Iterator[int]:
    """The port of a server on ::1."""
    with serving("--port", 0, "--bind", "::1") as served:
        yield served.port


def test_loopback_of_ipv6_needs_no_key(six: int) -> None:
    host = FarHost(parse_server(f"[::1]:{six}"))
    try:
        link = host.link()
        assert link.far_address == "::1"
        assert link.client.token is not None
        assert host.clock.difference_now().bound_ns > 0
    finally:
        host.close()


def test_who_connects_by_ipv4_to_all_addresses_of_ipv6_is_known_by_ipv4() -> None:
    """Its data connections are then of IPv4, too."""
    with (
        socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener,
        socket.create_connection(("127.0.0.1", listener.getsockname()[1]), LIMIT_S),
    ):
        sock, peer = listener.accept()
        with sock:
            assert wire.address_of(peer[0]) == "127.0.0.1"
            assert wire.is_loopback(sock.getsockname()[0])


@pytest.fixture
def in_own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's key is in the test's folder; what starts from this process has its limits."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    serve = "tinygram_bench.cli.commands.serve.hosts"
    monkeypatch.setattr(f"{serve}.raise_descriptor_limit", lambda: None)


@pytest.mark.parametrize(
    ("bind", "said"),
    [
        ("::", "--bind :: is not loopback, and this server has no key"),
        ("fe80::1", "--bind fe80::1 is an address of one link alone"),
        ("localhost", "--bind 'localhost' is not an IP address of this host"),
        ("2001:db8::7", "--bind 2001:db8::7 is not loopback, and this server has no key"),
    ],
)
@pytest.mark.usefixtures("in_own_home")
def test_where_it_cannot_listen_is_told(bind: str, said: str, refused: Refused) -> None:
    refused(("serve", "--bind", bind), (said,))


@pytest.mark.usefixtures("in_own_home")
def test_an_address_of_another_host_and_a_port_in_use_are_told(refused: Refused) -> None:
    command = [sys.executable, "-B", "-m", "tinygram_bench", "serve", "--new-key"]
    subprocess.run(command, capture_output=True, check=True, timeout=LIMIT_S)
    # What is said ends with the remedy.
    remedy = "; name an address of this host with --bind, and a port that is free with --port\n"
    refused(("serve", "--bind", "192.0.2.7"), (f"Cannot assign requested address{remedy}",))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = f"127.0.0.1 port {port}: Address already in use{remedy}"
        refused(("serve", "--port", str(port)), (said,))
