"""Large messages: what the kernel leaves of them waits below, in order, without a copy of ours."""

from __future__ import annotations

import asyncio
import gc
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.library.setups import NAMES, STRATEGIES, Connector, Recorder, Setup, receive_rest
from tests.library.wires import LONGEST_S, STALLED, Pair, reset, waiting_bytes

import tinygram
from tinygram.aio.connection import Settings, connection
from tinygram.aio.transport import Transport

MAX_BYTES = 64 << 10
PEAK = Path(__file__).parents[1] / "programs" / "peak.py"


class Below(asyncio.Transport):
    """Stands for an event loop's own transport, over a real socket: notes what it is handed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
        super().__init__({"socket": sock})
        self.loop = loop
        self.between: Any = None
        self.parts: list[Any] = []

    def write(self, data: Any) -> None:
        self.parts.append(data)
        self.between.pause_writing()

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.parts))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert (high, low) == (0, 0)

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        self.parts.clear()


@pytest.fixture
def below(unix_pair: Pair) -> Iterator[Below]:
    """Over one end of a pair, on a loop that does not run: nothing ticks."""
    loop = asyncio.new_event_loop()
    below = Below(loop, unix_pair[0])
    yield below
    below.between.transport.abort()
    loop.close()


def above(
    below: Below,
    strategy: tinygram.Strategy = tinygram.adaptive,
    max_buffered_bytes: int | None = None,
) -> Transport:
    """Our transport over that one."""
    settings = Settings.of_knobs(strategy, MAX_BYTES, None, max_buffered_bytes)
    below.between = connection(below.loop, asyncio.Protocol(), settings)
    transport = below.between.attach(below)
    assert isinstance(transport, Transport)
    return transport


def test_what_the_kernel_leaves_of_a_message_is_not_copied(below: Below, unix_pair: Pair) -> None:
    """Its rest was copied three times."""
    transport = above(below)
    message = bytes(STALLED)
    transport.write(message)
    (rest,) = below.parts
    assert isinstance(rest, memoryview)
    assert rest.obj is message
    assert rest.readonly
    assert len(rest) == STALLED - waiting_bytes(unix_pair[1])


def test_a_message_behind_others_is_not_copied(below: Below) -> None:
    """While the transport below has bytes, what came was held, and copied as a whole afterwards."""
    transport = above(below)
    below.between.pause_writing()
    transport.write(b"small ")
    transport.write(b"ones ")
    assert below.parts == []
    message = bytes(MAX_BYTES)
    transport.write(message)
    transport.write(message)
    assert below.parts[0] == b"small ones "
    assert [part is message for part in below.parts] == [False, True, True]
    assert transport.get_write_buffer_size() == len(b"small ones ") + 2 * MAX_BYTES


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_small_messages_behind_others_leave_together(
    below: Below, strategy: tinygram.Strategy
) -> None:
    """What we hold ourselves for a stalled peer is no more than a batch."""
    transport = above(below, strategy=strategy)
    below.between.pause_writing()
    for _ in range(10):
        transport.write(bytes(MAX_BYTES // 4))
    assert [len(part) for part in below.parts] == [MAX_BYTES, MAX_BYTES]
    assert transport.get_write_buffer_size() == 10 * MAX_BYTES // 4
    assert transport.stats().messages == 10


def test_a_mutable_message_is_copied_once(below: Below) -> None:
    """The program may change it as soon as `write` has returned."""
    transport = above(below)
    below.between.pause_writing()
    message = bytearray(MAX_BYTES)
    transport.write(message)
    message[:] = b"x" * MAX_BYTES
    assert below.parts == [bytes(MAX_BYTES)]
    assert type(below.parts[0]) is bytes


def test_what_is_bounded_is_held_by_us(below: Below) -> None:
    """The transport below has no bound."""
    transport = above(below, max_buffered_bytes=3 * MAX_BYTES)
    below.between.pause_writing()
    for _ in range(3):
        transport.write(bytes(MAX_BYTES))
    with pytest.raises(BufferError, match=f"{3 * MAX_BYTES} bytes are held"):
        transport.write(b"x")
    assert below.parts == []


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_the_rest_of_large_and_small_messages_arrives_after_close(
    setup: Setup, pair: Pair, strategy: tinygram.Strategy
) -> None:
    """Held, handed below, held again, and closed: each byte at its place."""
    ours, peer = pair
    sizes = [10, STALLED, 20, MAX_BYTES, 30, 1, MAX_BYTES - 1, 3 * MAX_BYTES, 40]
    messages = [b"%c" % (65 + number) * size for number, size in enumerate(sizes)]

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        for message in messages:
            transport.write(message)
        assert transport.get_write_buffer_size() > 0
        transport.close()
        assert await receive_rest(peer) == b"".join(messages)
        assert await protocol.lost is None

    setup.run(program, strategy=strategy)


def test_a_reset_in_the_middle_of_a_message_lets_it_go(setup: Setup, tcp: Pair) -> None:
    """The program is told of the reset, and nothing keeps its message in memory."""
    ours, peer = tcp
    message = bytes(STALLED)
    references = sys.getrefcount(message)

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        transport.write(b"before")
        transport.write(message)
        transport.write(message)
        reset(peer)
        assert isinstance(await protocol.lost, ConnectionResetError | BrokenPipeError)
        assert transport.get_write_buffer_size() == 0

    setup.run(program)
    gc.collect()
    assert sys.getrefcount(message) == references


@pytest.mark.parametrize("way", ["one", "many"])
@pytest.mark.parametrize("name", NAMES)
def test_a_stalled_reader_costs_no_more_memory_than_without_us(name: str, way: str) -> None:
    """One message of 64 MiB, and 64 of 1 MiB without `drain`."""
    Setup(name)  # Skips where uvloop is absent.
    base = peak_bytes(f"base-{name.split('-')[1]}", way)
    assert peak_bytes(name, way) <= 1.1 * base + (4 << 20)


def peak_bytes(name: str, way: str) -> int:
    """By how much a program's resident memory grows at most, in a process of its own."""
    process = subprocess.run(
        [sys.executable, PEAK, name, way], stdout=subprocess.PIPE, timeout=LONGEST_S, check=True
    )
    return int(process.stdout)
