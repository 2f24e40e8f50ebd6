"""A pytest plugin: how many writes may your code make for each message?

    pytest_plugins = ["tinygram.bench.gate"]  # In conftest.py; or pytest -p tinygram.bench.gate

    def test_a_response_is_one_write(write_gate):
        with write_gate(connection, most=1.1, messages=100):
            ...  # Send 100 responses.

It counts system calls, so that its outcome is the same on every host. It needs `tinygram[bench]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from tinygram_bench.host.own_writes import Counted, OwnWrites

__all__ = ["Counted", "WriteGate", "write_gate"]


class WriteGate:
    """Counts the writes to a connection of this process, and fails where there are too many."""

    @contextmanager
    def __call__(self, connection: Any, *, most: float, messages: int) -> Iterator[Counted]:
        """Allow `most` writes for each of the `messages` that the block sends on the connection.

        `connection`: a socket, a descriptor, a transport or a StreamWriter, which must be open when
        the block begins and ends. Fails the test where there are more writes, and where there is
        none, since then nothing of the connection was counted. Raises ValueError where `messages`
        is below 1.
        """
        if messages < 1:
            raise ValueError(f"messages={messages}: a gate needs at least one message")
        with _own_writes().counting(connection) as counted:
            yield counted
        each = counted.writes / messages
        if not counted.writes:
            pytest.fail("no write to the connection was seen: was it another one, or closed?")
        if each > most:
            pytest.fail(
                f"{counted.writes} writes for {messages} messages are {each:.4g} a message, and "
                f"{most:g} are allowed"
            )


@cache
def _own_writes() -> OwnWrites:
    return OwnWrites()


@pytest.fixture
def write_gate() -> WriteGate:
    """A gate for your code's writes: `with write_gate(connection, most=1.1, messages=100):`."""
    return WriteGate()
