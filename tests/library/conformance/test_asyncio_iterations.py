"""What a write owes to the loop: it needs no further turn, no clean end and no debug mode."""

from __future__ import annotations

import asyncio
import socket

import pytest
from tests.library.conformance.channels import Channel, pair, pattern
from tests.library.conformance.loops import Loop, Trouble
from tests.library.conformance.recorder import Recorder


class FaultError(Exception):
    """What a program may raise."""


@pytest.mark.parametrize("fails", [False, True], ids=["returns", "raises"])
def test_what_was_written_last_is_sent_though_the_loop_stops(loop: Loop, fails: bool) -> None:
    left, right = socket.socketpair()
    right.settimeout(5)
    ours = Recorder()

    async def write_and_stop() -> None:
        running = asyncio.get_running_loop()
        await running.create_unix_connection(lambda: ours, sock=left)
        for word in (b"one, ", b"two, ", b"three"):
            ours.transport.write(word)
        if fails:
            raise FaultError

    async def end() -> None:
        ours.transport.close()
        await ours.called("connection_lost")

    with right, asyncio.Runner(loop_factory=loop.make) as runner:
        try:
            runner.run(write_and_stop())
        except FaultError:
            assert fails
        assert right.recv(100, socket.MSG_WAITALL | socket.MSG_DONTWAIT) == b"one, two, three"
        runner.run(end())


async def test_what_a_callback_writes_is_sent_though_the_loop_has_nothing_else_to_do(
    channel: Channel,
) -> None:
    async with pair(channel) as (ours, peer):
        running = asyncio.get_running_loop()
        for number in range(3):
            running.call_soon(ours.transport.write, b"%d" % number)
        await peer.has_received(len("012"))
        running.call_later(0.001, ours.transport.write, b"3")
        await peer.has_received(len("0123"))
        assert peer.received == b"0123"


async def test_a_busy_loop_does_not_keep_writes_back(channel: Channel) -> None:
    """Others that are always ready starve nobody: a write leaves while they run."""
    async with pair(channel) as (ours, peer):
        ours.transport.write(b"one, ")
        ours.transport.write(b"two")
        # For as long as a test may last: how soon the kernel brings it is not the loop's affair.
        while len(peer.received) < len("one, two"):
            await asyncio.sleep(0)
        assert peer.received == b"one, two"


async def test_another_thread_writes_through_the_loop(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        running = asyncio.get_running_loop()

        def write_from_afar() -> None:
            for number in range(10):
                running.call_soon_threadsafe(ours.transport.write, b"%d" % number)

        await asyncio.to_thread(write_from_afar)
        await peer.has_received(10)
        assert peer.received == b"0123456789"
        # Its thread is not to be counted as left over.
        await running.shutdown_default_executor()


async def test_debug_mode_changes_nothing(channel: Channel) -> None:
    asyncio.get_running_loop().set_debug(True)
    async with pair(channel) as (ours, peer):
        ours.transport.write(b"small ")
        ours.transport.write(pattern(300_000))
        ours.transport.close()
        await peer.called("connection_lost")
        assert peer.received == b"small " + pattern(300_000)


async def test_a_fault_in_data_received_ends_the_connection_with_it(
    channel: Channel, trouble: Trouble
) -> None:
    async with pair(channel) as (ours, peer):
        fault = FaultError("in data_received")

        def fail() -> None:
            raise fault

        ours.reactions["data"] = fail
        peer.transport.write(b"x")
        await ours.called("connection_lost")
        assert ours.lost_with is fault
        assert any("FaultError" in seen for seen in trouble.seen)
    trouble.seen.clear()


@pytest.mark.parametrize("call", ["pause_writing", "resume_writing"])
async def test_a_fault_in_flow_control_is_told_and_ends_nothing(
    plain: Channel, trouble: Trouble, call: str
) -> None:
    async with pair(plain) as (ours, peer):

        def fail() -> None:
            raise FaultError(call)

        ours.reactions[call] = fail
        ours.transport.write(pattern(8_000_000))
        await peer.has_received(8_000_000)
        await ours.called("resume_writing")
        ours.transport.write(b"after")
        await peer.has_received(8_000_000 + len("after"))
        assert [call in seen for seen in trouble.seen] == [True]
    trouble.seen.clear()


async def test_datagrams_are_the_base_loops() -> None:
    running = asyncio.get_running_loop()
    received: asyncio.Future[bytes] = running.create_future()

    class Ear(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002
            received.set_result(data)

    ear, _ = await running.create_datagram_endpoint(Ear, local_addr=("127.0.0.1", 0))
    mouth, _ = await running.create_datagram_endpoint(
        asyncio.DatagramProtocol, remote_addr=ear.get_extra_info("sockname")
    )
    mouth.sendto(b"a datagram")
    assert await received == b"a datagram"
    mouth.close()
    ear.close()
    # Both are closed in the next turns.
    for _ in range(5):
        await asyncio.sleep(0)


async def test_subprocesses_and_their_pipes_are_the_base_loops() -> None:
    process = await asyncio.create_subprocess_exec(
        "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    echoed, _ = await process.communicate(pattern(200_000))
    assert echoed == pattern(200_000)
    assert process.returncode == 0
    for _ in range(5):
        await asyncio.sleep(0)
