"""`tinygram serve rr`: a server alone, which hostile clients cannot take from the others."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.support.command import Command
from tests.support.serve_command import serving

REQUEST_BYTES = 100
SERVER = ("rr", "--request", REQUEST_BYTES)


def connected(port: int) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=60)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def call(sock: socket.socket, index: int) -> None:
    sock.sendall(bytes(REQUEST_BYTES))
    assert sock.recv(2, socket.MSG_WAITALL) == bytes([index, index + 1])


def ask_until_refused(sock: socket.socket) -> None:
    """Send requests without end; BlockingIOError when nothing more is taken."""
    while True:
        sock.send(bytes(1 << 20))


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Enough for a thousand connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_command_measures_it_like_its_own(command: Command) -> None:
    with serving(*SERVER) as server:
        done = command.run(
            *("--server", f"127.0.0.1:{server.port}", "--request", REQUEST_BYTES),
            *("--callers", "1x3", "--calls", 4, "--rounds", 1, "--pin", "none"),
            *("--runtime", "native"),
        )
    assert done.code == 0, done.stderr
    assert [done.counters_of(index)["calls"] for index in range(len(done.runs))] == [12] * 8


@pytest.mark.usefixtures("many_descriptors")
def test_a_thousand_silent_a_slow_and_a_greedy_client_cost_little_and_stop_nobody() -> None:
    with serving(*SERVER) as server, ExitStack() as stack:
        honest = stack.enter_context(connected(server.port))
        call(honest, 0)
        before = server.resident_bytes()
        for _ in range(1_000):
            stack.enter_context(connected(server.port))
        slow = stack.enter_context(connected(server.port))
        greedy = stack.enter_context(connected(server.port))
        greedy.setblocking(False)
        # Takes no reply either.
        with pytest.raises(BlockingIOError):
            ask_until_refused(greedy)
        for index in range(1, 20):
            slow.sendall(b"x")
            call(honest, index)
        assert server.resident_bytes() - before < 64 << 20


def test_ctrl_c_ends_it_with_what_it_counted() -> None:
    with serving(*SERVER) as server, connected(server.port) as sock:
        call(sock, 0)
        call(sock, 1)
    assert server.counter("requests") == 2
