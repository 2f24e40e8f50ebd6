"""A server that answers what it should not fails the run, which names the sample and the stage."""

from __future__ import annotations

import socket
import struct

import pytest
from tests.sizes.plain import answer, exactly
from tests.support.command import Command
from tests.support.foreign_servers import Treat, after_first, peer

ONE_CELL = (
    *("--sizes", "10", "--round-trips", "2", "--samples", 100, "--rounds", 1),
    *("--no-local", "--timeout", "10s"),
)


def end_at_once(sock: socket.socket) -> None:
    exactly(sock, 8)


def acknowledge_too_much(sock: socket.socket) -> None:
    exactly(sock, 18)
    sock.sendall(struct.pack("!I", 11))


def acknowledge_half(sock: socket.socket) -> None:
    exactly(sock, 18)
    sock.sendall(b"\0\0")


def say_more(sock: socket.socket) -> None:
    answer(sock)
    sock.sendall(b"!")


def keep_silent(sock: socket.socket) -> None:
    while sock.recv(100):
        pass


# Two come before the samples: one that waits for a greeting of our own server, one for any answer.
say_nothing = after_first(answer, after_first(answer, keep_silent))


def fail_the_fifth() -> Treat:
    connections = iter(range(100))

    def act(sock: socket.socket) -> None:
        if next(connections) < 7:
            answer(sock)

    return act


FAULTS: list[tuple[Treat, str]] = [
    (end_at_once, "sample 0, message 0: the server ended the connection"),
    (acknowledge_too_much, "message 0: acknowledgement 0 says 11 bytes, and the message had 10"),
    (acknowledge_half, "message 0: the connection ended 2 bytes too early"),
    (say_more, "sample 0, end: 1 bytes came after the end"),
    (say_nothing, "sample 0, message 0: nothing came within 5s"),
    (fail_the_fifth(), "sample 5, "),
]


@pytest.mark.parametrize(("act", "fault"), FAULTS, ids=lambda value: getattr(value, "__name__", ""))
def test_the_run_fails_and_says_why(command: Command, act: Treat, fault: str) -> None:
    with peer(act) as port:
        done = command.run(*ONE_CELL, "--server", f"127.0.0.1:{port}")
    assert done.code == 1
    assert "Traceback" not in done.stderr
    (run,) = done.result["runs"]
    assert fault in run["failure"]
    assert (run["counters"], run["histograms"]) == ({}, {})
