"""Many connections come to a sender that listens, each with its number; a wrong one is refused."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

from tinygram_bench.workloads.stream.meeting import met
from tinygram_bench.workloads.stream.order import ReceiverOrder

HOST = "127.0.0.1"
ORDER = ReceiverOrder(
    messages=2,
    warm_up=0,
    min_bytes=1,
    max_bytes=1,
    seed=1,
    receive_buffer_bytes=1 << 16,
    congestion_control="reno",
    producers=1,
    notes_fd=-1,
    turns_fd=-1,
    host=HOST,
    connections=2,
)


def meet(stack: ExitStack, *brought: bytes) -> list[bytes]:
    """Let connections bring these; return what follows on each, in the order of their numbers."""

    def connect(port: int) -> None:
        for brings in brought:
            sock = stack.enter_context(socket.create_connection((HOST, port)))
            sock.sendall(brings)
            sock.shutdown(socket.SHUT_WR)

    followed = []
    for sock in met(ORDER, connect).sockets:
        followed.append(sock.recv(10))
        sock.close()
    return followed


def test_connections_are_in_the_order_of_their_numbers() -> None:
    with ExitStack() as stack:
        assert meet(stack, b"\1\0\0\0first", b"\0\0\0\0second") == [b"second", b"first"]


@pytest.mark.parametrize(
    ("brings", "told"),
    [
        (b"\0\0\0\0", "number 0, which is not free"),
        (b"\2\0\0\0", "number 2, which is not free"),
        (b"\xff\xff\xff\xff", "number 4294967295, which is not free"),
        (b"\1\0\0", "brought no number"),
        (b"", "brought no number"),
    ],
    ids=["another's", "one too large", "the largest", "a part", "nothing"],
)
def test_a_number_that_is_none_of_the_streams_is_refused(brings: bytes, told: str) -> None:
    with ExitStack() as stack, pytest.raises(OSError, match=told):
        meet(stack, b"\0\0\0\0", brings)
