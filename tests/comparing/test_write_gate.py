"""The pytest fixture that lets code make so many writes and no more: it counts system calls."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvloop

import tinygram
from tinygram.bench.gate import WriteGate
from tinygram_bench import _native
from tinygram_bench.host.own_writes import OwnWrites
from tinygram_bench.model.errors import UsageError

EXAMPLE = Path(__file__).parents[2] / "examples" / "ci" / "test_writes_of_a_handler.py"
Loop = Callable[[], asyncio.AbstractEventLoop]


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ends = socket.socketpair()
    yield ends
    for end in ends:
        end.close()


def test_every_call_that_writes_is_counted(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, other = pair
    with WriteGate()(ours, most=1, messages=5) as counted:
        ours.send(b"a")
        ours.sendall(b"bc")
        ours.sendmsg([b"d", b"e"])
        os.write(ours.fileno(), b"f")
        os.writev(ours.fileno(), [b"g", b"h"])
        other.send(b"another connection's")
    ours.send(b"after")
    assert (counted.writes, counted.written_bytes) == (5, 8)


def test_where_its_library_cannot_be_loaded_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "count_writes_library", lambda: b"no library")
    with pytest.raises(UsageError, match="writes cannot be counted in this process: that needs"):
        OwnWrites()


def test_one_write_too_many_fails(pair: tuple[socket.socket, socket.socket]) -> None:
    gate = WriteGate()
    fault = "12 writes for 10 messages are 1.2 a message, and 1.1 are allowed"
    with pytest.raises(pytest.fail.Exception, match=fault):
        _send_twelve(gate, pair[0])


def _send_twelve(gate: WriteGate, sock: socket.socket) -> None:
    with gate(sock, most=1.1, messages=10):
        for _ in range(12):
            sock.send(b"a")


def test_where_nothing_is_written_nothing_passes(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    gate = WriteGate()
    with pytest.raises(pytest.fail.Exception, match="no write"), gate(pair[0], most=1, messages=1):
        pair[1].send(b"a")


def test_a_test_that_fails_in_the_block_fails_as_it_does(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    gate = WriteGate()
    with pytest.raises(KeyError), gate(pair[0], most=1, messages=1):
        raise KeyError
    with gate(pair[0], most=1, messages=1):  # And the next one counts afresh.
        pair[0].send(b"a")


def test_what_is_no_connection_is_refused(pair: tuple[socket.socket, socket.socket]) -> None:
    gate = WriteGate()
    with pytest.raises(TypeError, match="is no connection"), gate("a", most=1, messages=1):
        pass
    with pytest.raises(ValueError, match="messages=0"), gate(pair[0], most=1, messages=0):
        pass
    with gate(pair[0], most=1, messages=1):
        pair[0].send(b"a")
        with (
            pytest.raises(RuntimeError, match="counted already"),
            gate(pair[1], most=1, messages=1),
        ):
            pass


async def _twenty_in_one_iteration(most: float) -> int:
    sent = asyncio.Event()

    async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(60)
        sent.set()
        writer.close()

    async with await asyncio.start_server(read, "127.0.0.1", 0) as server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        with WriteGate()(writer, most=most, messages=20) as counted:
            for _ in range(20):
                writer.write(b"abc")
            await sent.wait()
        writer.close()
        await writer.wait_closed()
    return counted.writes


@pytest.mark.parametrize("make", [asyncio.SelectorEventLoop, uvloop.new_event_loop])
def test_a_write_for_each_message_of_an_event_loop_is_seen(make: Loop) -> None:
    with asyncio.Runner(loop_factory=make) as runner:
        assert runner.run(_twenty_in_one_iteration(most=1)) == 20


def test_the_librarys_batches_are_seen() -> None:
    with asyncio.Runner(loop_factory=tinygram.new_event_loop) as runner:
        # If the host stops for 2 ms within the iteration, its first messages leave early.
        assert runner.run(_twenty_in_one_iteration(most=0.25)) <= 5


def test_the_example_is_a_test_that_passes_and_can_fail(tmp_path: Path) -> None:
    whole = EXAMPLE.read_text()
    parts = 'writer.writelines([b"%d\\r\\n" % len(body), body])'
    assert parts in whole
    (tmp_path / "test_one.py").write_text(whole)
    twice = 'writer.write(b"%d\\r\\n" % len(body)); writer.write(body)'
    (tmp_path / "test_two.py").write_text(whole.replace(parts, twice))
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-p", "tinygram.bench.gate", "-q", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "200 writes for 100 messages are 2 a message, and 1.1 are allowed" in done.stdout
