"""A server that acknowledges a message before it has it fails the run: its times were too good."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

import pytest
from tests.sizes.plain import answer, exactly
from tests.support.command import Command, Done
from tests.support.foreign_servers import Treat, peer

# More than both ends' buffers hold: it was acknowledged before it can have been sent.
LARGE = "16MiB"
FIRST_SAMPLES = 5
WITHHELD = FIRST_SAMPLES
FIRST_MEASURED = WITHHELD + 1
# Each case runs alone, as it would if it were the only one.
EITHER_SETUP = ("--setup-writes", 1, "--setup-writes", 2, "--lone")


def acknowledge_at_once(sock: socket.socket) -> None:
    """Each message before a byte of it was read."""
    length, count = struct.unpack("!II", exactly(sock, 8))
    for _ in range(count):
        sock.sendall(struct.pack("!I", length))
        exactly(sock, length)


def acknowledge_the_next_too(sock: socket.socket) -> None:
    length, count = struct.unpack("!II", exactly(sock, 8))
    exactly(sock, length)
    sock.sendall(struct.pack("!I", length) * count)
    exactly(sock, length * (count - 1))


def from_connection(number: int, lie: Treat) -> Treat:
    """The right answer to those before; the first of all only asks whether there is an answer."""
    connections = iter(range(10_000))

    def act(sock: socket.socket) -> None:
        (answer if next(connections) < number else lie)(sock)

    return act


def run_against(command: Command, act: Treat, size: str, *arguments: object) -> Done:
    with peer(act) as port:
        return command.run(
            *(
                "--first",
                FIRST_SAMPLES,
                "--sizes",
                size,
                "--round-trips",
                2,
                "--samples",
                100,
                "--rounds",
                1,
                "--no-local",
            ),
            *("--timeout", "60s", "--strategy", "nodelay", "--server", f"127.0.0.1:{port}"),
            *arguments,
        )


def test_one_before_the_last_byte_is_told(command: Command) -> None:
    done = run_against(command, acknowledge_at_once, LARGE, *EITHER_SETUP)
    assert done.code == 1
    assert len(done.runs) == 2
    for run in done.runs:
        assert run["failure"].endswith(
            f"sample {WITHHELD}, message 0: bytes of its acknowledgement came before all of the "
            "message was sent"
        )


LATER: list[tuple[int, Callable[[socket.socket], None]]] = [
    # Whose last byte is withheld, looks before its other messages too.
    (2 + WITHHELD, acknowledge_the_next_too),
    (2 + FIRST_MEASURED, acknowledge_the_next_too),
]


@pytest.mark.parametrize(("number", "lie"), LATER)
def test_one_before_its_message_is_told(command: Command, number: int, lie: Treat) -> None:
    done = run_against(command, from_connection(number, lie), "10", "--setup-writes", 2)
    assert done.code == 1
    (run,) = done.runs
    assert run["failure"].endswith(
        f"sample {number - 2}, message 1: bytes of its acknowledgement came before all of the "
        "message was sent"
    )


def test_a_right_server_passes(command: Command) -> None:
    done = run_against(command, answer, "1,100kB", *EITHER_SETUP)
    assert done.code == 0, done.stderr
    assert [done.counters_of(index)["samples"] for index in range(len(done.runs))] == [100] * 4
