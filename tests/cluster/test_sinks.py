"""The sink of a cluster's host takes bytes from whoever has its token, and from nobody else."""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest

from tinygram_bench.cluster.paths import TOKEN_BYTES, TOTAL_BYTES, Sink, bytes_per_s, told_total

HOST = "127.0.0.1"
LIMIT_S = 30.0


def answer_to(port: int, brings: bytes) -> bytes:
    """What a connection that brings these bytes is told until it is ended."""
    with socket.create_connection((HOST, port), LIMIT_S) as sock:
        heard = b""
        # The sink resets a connection of which it has left something unread.
        with suppress(OSError):
            sock.sendall(brings)
            sock.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while more := sock.recv(100):
                heard += more
        return heard


def test_whoever_has_no_token_is_told_nothing_and_the_next_one_is_served() -> None:
    sink = Sink(HOST)
    wrong = sink.token[:-1] + bytes([sink.token[-1] ^ 1])
    for brings in (b"", sink.token[:-1], wrong, wrong + bytes(1_000), bytes(TOKEN_BYTES)):
        assert answer_to(sink.port, brings) == b""
    assert bytes_per_s(HOST, sink.port, sink.token) > 0


def test_all_bytes_behind_the_token_are_counted() -> None:
    sink = Sink(HOST)
    answer = answer_to(sink.port, sink.token + bytes(1_000_001))
    assert answer == (1_000_001).to_bytes(TOTAL_BYTES, "little")


def test_a_part_of_a_total_is_none() -> None:
    near, far = socket.socketpair()
    with far:
        near.sendall(bytes(TOTAL_BYTES - 1))
        near.close()
        with pytest.raises(OSError, match="ended the connection early"):
            told_total(far)
