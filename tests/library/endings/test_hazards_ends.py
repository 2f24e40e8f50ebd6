"""Hazards of a connection's end: why it ended is said as asyncio says it, and nothing stays."""

from __future__ import annotations

import asyncio
import gc
import socket
import textwrap
import weakref
from pathlib import Path
from typing import Any

import pytest
from tests.library.setups import LONG, STRATEGIES, Connector, Recorder, Setup, wait_for
from tests.library.wires import (
    STALLED,
    Pair,
    finish,
    reset,
    start_python,
    tcp_pair,
    wait_until_reset,
)

import tinygram


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
@pytest.mark.parametrize("reads", [True, False], ids=["reading", "paused"])
def test_a_reset_that_a_write_meets(
    setup: Setup, tcp: Pair, strategy: tinygram.Strategy, reads: bool
) -> None:
    """Our write took the kernel's ECONNRESET, and the loop's own, after it, was told EPIPE."""
    ours, peer = tcp

    async def program(connect: Connector) -> None:
        protocol = Recorder()
        transport = await connect.protocol(protocol, ours)
        if not reads:
            transport.pause_reading()
        await asyncio.sleep(0)
        reset(peer)
        wait_until_reset(ours)
        transport.write(b"too ")
        transport.write(b"late")
        assert isinstance(await protocol.lost, ConnectionResetError)

    setup.run(program, strategy=strategy)


class Forgettable(asyncio.Protocol):
    """Refers to nothing."""

    def __init__(self, lost: asyncio.Future[None]) -> None:
        self._lost = lost

    def connection_lost(self, _: Exception | None) -> None:
        self._lost.set_result(None)


class ForgettableBuffer(asyncio.BufferedProtocol):
    """Likewise, as one that has its own buffer."""

    def __init__(self, lost: asyncio.Future[None]) -> None:
        self._lost = lost
        self._buffer = bytearray(1000)

    def get_buffer(self, _: int) -> bytearray:
        return self._buffer

    def connection_lost(self, _: Exception | None) -> None:
        self._lost.set_result(None)


@pytest.mark.parametrize("strategy", [tinygram.tick, LONG], ids=str)
@pytest.mark.parametrize("end", ["close", "abort", "the peer's"])
@pytest.mark.parametrize("kind", [Forgettable, ForgettableBuffer])
def test_a_closed_connection_is_freed_at_once(
    setup: Setup,
    kind: type[Forgettable | ForgettableBuffer],
    end: str,
    strategy: tinygram.Strategy,
) -> None:
    """Cycles, which only the garbage collector ends, are megabytes on a server of short ones."""

    async def connect_and_end(connect: Connector) -> list[weakref.ref[Any]]:
        ours, peer = tcp_pair()
        lost = asyncio.get_running_loop().create_future()
        protocol = kind(lost)
        transport = await connect.protocol(protocol, ours)
        transport.write(b"message")
        if end == "the peer's":
            peer.shutdown(socket.SHUT_WR)
        else:
            getattr(transport, end)()
        await lost
        peer.close()
        return [weakref.ref(protocol), weakref.ref(transport)]

    async def program(connect: Connector) -> None:
        ends = await connect_and_end(connect)
        async with asyncio.timeout(30):
            await wait_for(lambda: [end() for end in ends] == [None, None])

    gc.disable()
    try:
        setup.run(program, strategy=strategy)
    finally:
        gc.enable()


FORKS = f"""
import asyncio, os
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from tests.library.setups import LONG, Recorder, Setup
setup = Setup(sys.argv[2])

async def main(data):
    recorder = Recorder()
    transport = await setup.connector(strategy=LONG).protocol(recorder, sock)
    transport.write(data)
    child = os.fork()
    if child == 0:
        transport.__del__()
        sys.stderr.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    transport.abort()
    await recorder.lost

def run(data):
    with asyncio.Runner(loop_factory=lambda: setup.new_loop(strategy=LONG)) as runner:
        runner.run(main(data))
"""


@pytest.mark.parametrize("count", [4, STALLED], ids=["held", "stalled"])
def test_a_fork_s_child_does_not_miss_its_parent_s_bytes(
    setup: Setup, unix_pair: Pair, count: int
) -> None:
    """The child warned of bytes that were never sent, though its parent was about to send them."""
    ours, _ = unix_pair
    process = start_python(FORKS + textwrap.dedent(f"run(bytes({count}))"), ours, setup.name)
    _, errors = finish(process)
    assert (process.returncode, errors) == (0, "")
