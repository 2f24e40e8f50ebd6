"""What connections cost a server in memory that have not authenticated, as many as it hears."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.hosts.namespaces.apart import apart, needs_two_hosts
from tests.support.waiting import wait_until

from tinygram_bench.hosts.wire import PORT

STRANGERS = 16
"""How many docs/security.md says that a server hears at a time."""
MOST_BYTES = 1 << 20
"""What that page says that each costs less than; half of it was measured."""
HELLO_BYTES = 130_000
"""OpenSSL takes no longer ClientHello than 131,396 bytes."""
RECORD_BYTES = 1 << 14
TAKEN_S = 8.0
"""What is not authenticated after 10 s is ended, and has no memory any more."""
pytestmark = needs_two_hosts


def unfinished_hello() -> bytes:
    """A ClientHello as long as one may be, in records, without its last byte."""
    message = b"\1" + HELLO_BYTES.to_bytes(3, "big") + bytes(HELLO_BYTES)
    return b"".join(records(message[:-1]))


def records(message: bytes) -> Iterator[bytes]:
    for begin in range(0, len(message), RECORD_BYTES):
        part = message[begin : begin + RECORD_BYTES]
        yield b"\x16\3\1" + len(part).to_bytes(2, "big") + part


def half_done(address: str) -> socket.socket:
    """A connection that was greeted, and has sent all but the end of its first message of TLS."""
    sock = socket.create_connection((address, PORT), TAKEN_S)
    while sock.recv(1) != b"\n":
        pass
    sock.sendall(unfinished_hello())
    return sock


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def unread_bytes() -> int:
    """What waits to be sent, acknowledged or taken, in this thread's network namespace."""
    lines = Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
    queues = (line.split()[4].split(":") for line in lines)
    return sum(int(each, 16) for queue in queues for each in queue)


def test_as_many_half_done_handshakes_as_are_heard_cost_less_than_a_mebibyte_each(
    tmp_path: Path,
) -> None:
    with apart(tmp_path, through=()) as two, ExitStack() as stack:
        half_done(two.address).close()  # What the first handshake ever costs is not of strangers.
        wait_until(lambda: two.on_far(established) == 0, TAKEN_S, "the first one is gone")
        before = resident_bytes(two.server.pid)
        strangers = [stack.enter_context(half_done(two.address)) for _ in range(STRANGERS)]
        wait_until(
            # Where the server's window is full, the rest waits at the near end.
            lambda: unread_bytes() + two.on_far(unread_bytes) == 0,
            TAKEN_S,
            "it has taken all of it",
        )
        assert two.on_far(established) == len(strangers)
        more = resident_bytes(two.server.pid) - before
    # A server that had not kept what it took would show nothing.
    assert len(strangers) * HELLO_BYTES / 2 < more < len(strangers) * MOST_BYTES


def established() -> int:
    lines = Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
    return sum(line.split()[3] == "01" for line in lines)
