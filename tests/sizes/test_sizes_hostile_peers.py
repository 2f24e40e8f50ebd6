"""What peers do that are no clients costs a server little memory, and nobody else's service."""

from __future__ import annotations

import os
import resource
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.sizes.plain import exchange
from tests.support.serve_command import Serving, serving

MOST_GROWTH_BYTES = 16 << 20


@contextmanager
def unharmed(*arguments: object) -> Iterator[Serving]:
    """A server that serves others afterwards as before, with hardly more memory."""
    with serving("sizes", *arguments) as server:
        assert exchange(server.port, 1_000, 2) == [1_000, 1_000]
        before = server.resident_bytes()
        yield server
        assert exchange(server.port, 1_000, 2) == [1_000, 1_000]
        assert server.resident_bytes() - before < MOST_GROWTH_BYTES


def connected(server: Serving) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def is_reset(sock: socket.socket) -> bool:
    """Whether it is a reset that ends the connection, whatever came before."""
    try:
        while sock.recv(100):
            pass
    except ConnectionResetError:
        return True
    return False


def test_garbage() -> None:
    with unharmed() as server:
        for _ in range(20):
            with connected(server) as sock:
                sock.sendall(b"\xff" + os.urandom(100))
                assert is_reset(sock)


def test_a_huge_length_and_a_huge_count_are_refused_before_memory_is_taken() -> None:
    with unharmed() as server:
        for length, count in ((1 << 32) - 1, 1), (1, (1 << 32) - 1), (0, 1):
            with connected(server) as sock:
                sock.sendall(struct.pack("!II", length, count))
                assert is_reset(sock)
    assert server.counter("refused connections") == 3


def test_the_largest_message_that_is_taken_takes_no_memory_of_its_size() -> None:
    with unharmed("--max-message", "1GiB") as server, ExitStack() as stack:
        for _ in range(50):
            sock = stack.enter_context(connected(server))
            sock.sendall(struct.pack("!II", 1 << 30, 1) + bytes(100))


def test_half_a_setup_and_half_a_message() -> None:
    with unharmed() as server:
        for sent in (b"", b"\0\0", struct.pack("!II", 100, 1) + bytes(99)):
            with connected(server) as sock:
                sock.sendall(sent)
                sock.shutdown(socket.SHUT_WR)
                assert is_reset(sock)


def test_one_byte_more_than_was_announced() -> None:
    with unharmed() as server, connected(server) as sock:
        sock.sendall(struct.pack("!II", 5, 1) + bytes(6))
        assert is_reset(sock)


def test_a_message_byte_by_byte_beside_others() -> None:
    with unharmed() as server, connected(server) as slow:
        slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in struct.pack("!II", 3, 1) + b"abc":
            slow.sendall(bytes([byte]))
            assert exchange(server.port, 10, 1) == [10]
        assert slow.recv(4) == b"\0\0\0\3"


def test_a_thousand_silent_connections() -> None:
    """More than it has slots for: the most silent ones give way."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4_096), hard))
    with unharmed() as server, ExitStack() as stack:
        for _ in range(1_000):
            stack.enter_context(connected(server))
        assert exchange(server.port, 10, 1) == [10]
    assert server.counter("idle connections") >= 1_000 - 512


def test_it_takes_no_more_descriptors_than_it_may_have() -> None:
    """With more slots than descriptors, too, the silent give way."""
    with unharmed("--max-connections", 100_000) as server, ExitStack() as stack:
        _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (100, hard))
        for _ in range(300):
            stack.enter_context(connected(server))
        assert exchange(server.port, 10, 1) == [10]


def test_without_one_descriptor_it_waits_until_there_is_one() -> None:
    """Nobody is there to give way, and somebody waits to be accepted."""
    with serving("sizes") as server:
        pid = server.process.pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        first_free = max(int(name) for name in os.listdir(f"/proc/{pid}/fd")) + 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
        with connected(server):
            time.sleep(0.2)
            assert server.process.poll() is None
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (first_free + 100, hard))
            assert exchange(server.port, 10, 1) == [10]
