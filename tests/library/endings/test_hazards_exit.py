"""Hazards of a program's end: what is held is delivered, or its loss is reported; never silence.

nats.go #333, tokio #2484: a program that ended right after its last write lost it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import textwrap
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.library.setups import LONG, Connector, Recorder, Setup
from tests.library.wires import STALLED, Pair, finish, receive_all, start_python, waiting_bytes

import tinygram

PROGRAM = f"""
import asyncio, os, signal, threading
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from tests.library.setups import LONG, Setup
setup = Setup(sys.argv[2])
kept = []

async def write(data=b"held"):
    _, writer = await setup.connector(strategy=LONG).streams(sock)
    writer.write(data)
    kept.append(writer)
    return writer

def new_loop():
    return setup.new_loop(strategy=LONG)

def run(main):
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main)
"""

ENDS = {
    "returns": ("run(write())", 0),
    "raises": (
        """
        async def main():
            await write()
            raise KeyError("the program's own")
        run(main())
        """,
        1,
    ),
    "exits": (
        """
        async def main():
            await write()
            sys.exit(3)
        run(main())
        """,
        3,
    ),
    "exits in a callback": (
        """
        async def main():
            await write()
            asyncio.get_running_loop().call_soon(sys.exit, 3)
            await asyncio.sleep(60)
        run(main())
        """,
        3,
    ),
    "is interrupted": (
        """
        async def main():
            await write()
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)
        run(main())
        """,
        -2,
    ),
    "crashes and leaves the loop open": (
        """
        async def main():
            await write()
            asyncio.get_running_loop().call_soon(exit_now)
            await asyncio.sleep(60)
        def exit_now():
            raise KeyboardInterrupt
        loop = new_loop()
        try:
            loop.run_until_complete(main())
        except KeyboardInterrupt:
            sys.exit(4)
        """,
        4,
    ),
    "stops the loop and leaves it open": (
        """
        async def main():
            await write()
            asyncio.get_running_loop().stop()
        loop = new_loop()
        task = loop.create_task(main())
        loop.run_forever()
        """,
        0,
    ),
    "leaves the loop to a daemon thread": (
        """
        written = threading.Event()
        async def main():
            await write()
            written.set()
            await asyncio.sleep(60)
        threading.Thread(target=run, args=(main(),), daemon=True).start()
        written.wait(60)
        """,
        0,
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_program_that_ends_without_closing(setup: Setup, unix_pair: Pair, end: str) -> None:
    ours, peer = unix_pair
    script, status = ENDS[end]
    process = start_python(PROGRAM + textwrap.dedent(script), ours, setup.name)
    try:
        received = receive_all(peer)
    finally:
        _, errors = finish(process)
    assert (received, process.returncode) == (b"held", status), errors
    assert "never sent" not in errors


def test_a_loop_that_is_closed_before_its_transport(setup: Setup, unix_pair: Pair) -> None:
    """Ours writes when it stops; on another loop it is too late to write, and that is said."""
    ours, peer = unix_pair
    script = """
        loop = new_loop()
        loop.run_until_complete(write())
        loop.close()
        """
    process = start_python(PROGRAM + textwrap.dedent(script), ours, setup.name)
    try:
        received = receive_all(peer)
    finally:
        _, errors = finish(process)
    assert process.returncode == 0
    if setup.is_ours:
        assert (received, "never sent" in errors) == (b"held", False)
    else:
        assert received == b""
        assert "RuntimeWarning: 4 bytes of <tinygram.aio.transport.Transport over" in errors


def test_a_loop_that_went_with_bytes_in_it_is_collected(setup: Setup, unix_pair: Pair) -> None:
    """What was not sent is said as soon as nobody can send it, not at the program's end."""
    ours, _ = unix_pair
    loop = setup.new_loop(strategy=LONG)

    async def write() -> None:
        transport = await setup.connector(strategy=LONG).protocol(Recorder(), ours)
        transport.write(b"held")

    loop.run_until_complete(write())
    loop.close()
    del loop
    if setup.is_ours:
        gc.collect()
    else:
        with pytest.warns(RuntimeWarning, match="4 bytes of .* were never sent"):
            gc.collect()


def test_the_end_of_a_program_does_not_wait_for_a_stalled_reader(
    setup: Setup, unix_pair: Pair
) -> None:
    """Interpreter shutdown: nothing hangs, and what the kernel does not take is reported.

    Except by uvloop, which forgets in silence what it has in its own buffer.
    """
    ours, _ = unix_pair
    script = f"run(write(bytes({STALLED})))"
    process = start_python(PROGRAM + script, ours, setup.name)
    _, errors = finish(process)
    assert process.returncode == 0
    assert "were never sent" in errors or setup.is_uvloop


def test_a_fork_s_child_sends_nothing_of_its_parent_s(setup: Setup, unix_pair: Pair) -> None:
    """Both processes have a copy of what is held: the parent alone sends it, once."""
    ours, peer = unix_pair
    script = """
        async def main():
            writer = await write(b"parent's")
            child = os.fork()
            if child == 0:
                assert writer.transport.get_write_buffer_size() == 0
                writer.transport.writelines([])
                sys.exit()
            assert os.waitpid(child, 0)[1] == 0
            assert writer.transport.get_write_buffer_size() == 8
            writer.close()
        run(main())
        """
    process = start_python(PROGRAM + textwrap.dedent(script), ours, setup.name)
    try:
        received = receive_all(peer)
    finally:
        _, errors = finish(process)
    assert (received, process.returncode) == (b"parent's", 0), errors


class Interrupted(socket.socket):
    """Is full, and is interrupted when it is written to nevertheless."""

    kind: type[BaseException]

    def send(self, data: object, flags: int = 0) -> int:  # noqa: ARG002
        raise self.kind

    def fill(self) -> None:
        """Leave no room in the kernel's buffer."""
        self.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while super().send(bytes(1 << 16)):
                pass


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("ends", ["tick", "flush"])
@pytest.mark.parametrize("name", ["opened-asyncio", "loop-asyncio"])
def test_ctrl_c_within_a_tick_ends_the_program_and_keeps_nothing_back(
    kind: type[BaseException], ends: str, name: str
) -> None:
    """It must not be taken for a failure of one connection, nor cost the others their bytes."""
    setup, strategy = Setup(name), {"tick": tinygram.tick, "flush": LONG}[ends]
    loop = setup.new_loop(strategy=strategy)
    told: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, what: told.append(what))
    pairs = [socket.socketpair() for _ in range(3)]
    full = Interrupted(fileno=pairs[1][0].detach())
    full.kind = kind
    full.fill()
    peers = [peer for _, peer in pairs]
    full_bytes = waiting_bytes(peers[1])
    transports: list[tinygram.Transport] = []

    async def write() -> None:
        connector = setup.connector(strategy=strategy)
        for sock in (pairs[0][0], full, pairs[2][0]):
            transports.append(await connector.protocol(Recorder(), sock))
        for transport in transports:
            transport.write(b"held")
        if ends == "flush":
            await loop.shutdown_asyncgens()
        else:
            await asyncio.sleep(20)

    async def abort() -> None:
        for transport in transports:
            transport.abort()
        await asyncio.sleep(0)

    writing = loop.create_task(write())
    with contextlib.closing(loop):
        with pytest.raises(kind):
            loop.run_until_complete(writing)
        assert [waiting_bytes(peer) for peer in peers] == [4, full_bytes, 4]
        assert not told
        writing.cancel()
        loop.run_until_complete(abort())
    for peer in peers:
        peer.close()


BATCH_ENDS = {
    "exits": ("with out: out.send(b'held'); sys.exit(3)", 3),
    "raises": ("with out: out.send(b'held'); raise KeyError", 1),
    "is interrupted": ("with out: out.send(b'held'); raise KeyboardInterrupt", -2),
}


@pytest.mark.parametrize("end", BATCH_ENDS)
def test_a_plain_loop_that_ends_within_its_block(unix_pair: Pair, end: str) -> None:
    ours, peer = unix_pair
    script, status = BATCH_ENDS[end]
    head = "import tinygram; out = tinygram.batch(sock, strategy=tinygram.coalesce(60e6))\n"
    process = start_python(head + script, ours)
    try:
        received = receive_all(peer)
    finally:
        _, errors = finish(process)
    assert (received, process.returncode) == (b"held", status), errors
    assert "never sent" not in errors


def test_a_plain_loop_without_a_block_that_ends(unix_pair: Pair) -> None:
    """A write at the end might come in between others' on this socket: the loss is said instead."""
    ours, peer = unix_pair
    script = """
        import tinygram
        out = tinygram.batch(sock, strategy=tinygram.coalesce(60e6))
        out.send(b"held")
        """
    process = start_python(script, ours)
    try:
        received = receive_all(peer)
    finally:
        _, errors = finish(process)
    assert (received, process.returncode) == (b"", 0)
    assert "RuntimeWarning: 4 bytes held for <socket.socket" in errors


def test_what_a_closed_connection_gives_back_is_no_loss(setup: Setup, unix_pair: Pair) -> None:
    """No warning where nothing was lost: closed, aborted on purpose, or told by an error."""

    others = socket.socketpair()

    async def program(connect: Connector) -> None:
        protocols = [Recorder(), Recorder()]
        pairs = zip(protocols, (unix_pair[0], others[0]), strict=True)
        transports = [await connect.protocol(protocol, sock) for protocol, sock in pairs]
        for protocol, transport, end in zip(protocols, transports, ("close", "abort"), strict=True):
            transport.write(b"held")
            getattr(transport, end)()
            await protocol.lost

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        setup.run(program, strategy=LONG)
        gc.collect()
    assert receive_all(others[1]) == b""
    others[1].close()
