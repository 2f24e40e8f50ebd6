"""Bytes of a fixed number are read whole, however the wire cuts them, or the reader is told."""

from __future__ import annotations

import fcntl
import socket
import struct
import termios
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tinygram_bench.host.network.connections import received_whole

LIMIT_S = 30.0


def unread_bytes(sock: socket.socket) -> int:
    (count,) = struct.unpack("i", fcntl.ioctl(sock, termios.FIONREAD, bytes(4)))
    return int(count)


def test_what_comes_in_two_pieces_is_whole_and_nothing_more_is_read() -> None:
    near, far = socket.socketpair()
    with near, far, ThreadPoolExecutor(1) as pool:
        near.sendall(b"to")
        reading = pool.submit(received_whole, far, 4, LIMIT_S)
        give_up_s = time.monotonic() + LIMIT_S
        while unread_bytes(far) and time.monotonic() < give_up_s:
            time.sleep(0.001)
        near.sendall(b"gether")
        assert reading.result(LIMIT_S) == b"toge"
        assert far.recv(10) == b"ther"


def test_a_connection_that_ends_early_gives_what_came() -> None:
    near, far = socket.socketpair()
    with far:
        near.sendall(b"to")
        near.close()
        assert received_whole(far, 4, LIMIT_S) == b"to"


def test_what_does_not_come_in_time_is_told() -> None:
    near, far = socket.socketpair()
    with near, far:
        near.sendall(b"to")
        with pytest.raises(TimeoutError):
            received_whole(far, 4, 0.01)
