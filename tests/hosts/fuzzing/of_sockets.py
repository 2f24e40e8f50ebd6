"""Parsers that read a few bytes from a connection, and nothing after them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tests.hosts.fuzzing.lines import TOKEN

from tinygram_bench import _native
from tinygram_bench.cluster.paths import TOTAL_BYTES, has_taken, told_total
from tinygram_bench.cluster.ray_hosts import speaks_http2
from tinygram_bench.host.network.connections import introduce
from tinygram_bench.hosts.address import greeting_of
from tinygram_bench.hosts.wire import MAX_GREETING_BYTES, greeted
from tinygram_bench.workloads.stream.meeting import NUMBER_BYTES, number_of

LIMIT_S = 60.0


@contextmanager
def saying(line: bytes) -> Iterator[tuple[socket.socket, socket.socket]]:
    """The other end of a connection, which has said the line and says no more, and this one."""
    near, far = socket.socketpair()
    with near, far:
        near.sendall(line)
        near.shutdown(socket.SHUT_WR)
        yield near, far


def greeting_in_front(line: bytes) -> None:
    """What a server says before TLS begins."""
    said, newline, _ = line[:MAX_GREETING_BYTES].partition(b"\n")
    taken = said + newline
    with saying(line) as (_, far):
        try:
            found = greeting_of(far, LIMIT_S)
        except EOFError:
            assert not line
            return
        is_whole = newline or len(taken) == MAX_GREETING_BYTES
        assert found == (greeted(taken) if is_whole else None)
        assert far.recv(1 << 16) == line[len(taken) :]


def token_in_front(line: bytes) -> None:
    """What a data connection begins with."""
    with saying(line) as (_, far):
        is_ours = _native.Admission(None, TOKEN).admit(far.fileno(), "127.0.0.1")
        assert is_ours == line.startswith(TOKEN)
        assert far.recv(1 << 16) == line[len(TOKEN) :]


def answer_to_a_token(line: bytes) -> None:
    """What a server says to a data connection."""
    with saying(line) as (near, far):
        try:
            introduce(far, TOKEN)
        except OSError:
            assert not line.startswith(_native.Admission.ADMITTED)
        else:
            assert line.startswith(_native.Admission.ADMITTED)
        assert near.recv(1 << 16) == TOKEN
        assert far.recv(1 << 16) == line[1:]


def number_in_front(line: bytes) -> None:
    """What one of many connections begins with, behind its token."""
    with saying(line) as (_, far):
        try:
            number = number_of(far)
        except OSError:
            assert len(line) < NUMBER_BYTES
            return
        assert number.to_bytes(NUMBER_BYTES, "little") == line[:NUMBER_BYTES]
        assert far.recv(1 << 16) == line[NUMBER_BYTES:]


def bytes_of_a_path(line: bytes) -> None:
    """What is sent to the sink of a cluster's host."""
    with saying(line) as (near, far):
        assert has_taken(far, TOKEN) == line.startswith(TOKEN)
        if line.startswith(TOKEN):
            assert told_total(near) == len(line) - len(TOKEN)


def total_of_a_sink(line: bytes) -> None:
    """What a sink says."""
    with saying(line) as (_, far):
        try:
            total = told_total(far)
        except OSError:
            assert len(line) < TOTAL_BYTES
            return
        assert total.to_bytes(TOTAL_BYTES, "little") == line[:TOTAL_BYTES]


def frame_of_a_cluster(line: bytes) -> None:
    """What listens at a cluster's address says first."""
    with saying(line) as (_, far):
        assert speaks_http2(far) == (len(line) >= 9 and line[3] == 4)
