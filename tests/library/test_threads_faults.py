"""Many threads on one connection, and something gives out: who is told, and of which bytes."""

from __future__ import annotations

import socket
import threading
import time

from tests.library.wires import (
    receive_all,
    wait_until,
)

import tinygram
from tinygram import CoalescingSocket

Pair = tuple[socket.socket, socket.socket]


def test_flush_ends_though_others_go_on_sending(unix_pair: Pair) -> None:
    """What comes after the call is not waited for: the peer is too slow for that ever to end."""
    ours, peer = unix_pair
    sock = CoalescingSocket(ours, strategy=tinygram.combine, max_buffered_bytes=400_000)
    is_over = threading.Event()

    def send() -> None:
        while not is_over.is_set():
            sock.send(bytes(1000))

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    wait_until(lambda: sock.held_bytes > 390_000, "the peer takes everything")
    flushing = threading.Thread(target=sock.flush, daemon=True)
    flushing.start()
    received = 0
    while flushing.is_alive() and received < 6_000_000:
        received += len(peer.recv(2_000))
        time.sleep(0.001)
    was_flushed = not flushing.is_alive()
    is_over.set()
    receiving = threading.Thread(target=receive_all, args=(peer,))
    receiving.start()
    sending.join(timeout=20)
    sock.close(timeout_s=20)
    receiving.join(timeout=20)
    assert was_flushed
