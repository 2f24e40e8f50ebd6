"""Messages handed over at one go, on every face: the bytes of single ones, however they are cut."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.library.setups import NAMES, Connector, Recorder, Setup, receive_rest
from tests.library.wires import LONGEST_S, receive_all

import tinygram
from tinygram.strategies import OF_LOOPS, OF_THREADS

CASES = settings(max_examples=60, deadline=None, derandomize=True)
FORMS: tuple[Callable[[bytes], Any], ...] = (bytes, bytearray, memoryview)

messages = st.lists(
    st.tuples(st.sampled_from(FORMS), st.binary(max_size=40)).map(lambda it: it[0](it[1])),
    max_size=60,
)
lists = st.lists(messages, max_size=6)
"""How the messages are cut: each list is handed over at one go."""
max_bytes = st.sampled_from([1, 50, 1000, 1 << 16])


def joined(given_lists: list[list[Any]]) -> bytes:
    return b"".join(message for together in given_lists for message in together)


@CASES
@given(given_lists=lists, strategy=st.sampled_from(OF_LOOPS), max_bytes=max_bytes)
def test_a_batch(given_lists: list[list[Any]], strategy: tinygram.Strategy, max_bytes: int) -> None:
    ours, peer = socket.socketpair()
    with peer:
        with ours, tinygram.batch(ours, strategy=strategy, max_bytes=max_bytes) as out:
            for together in given_lists:
                out.send_many(together)
            written = out.stats()
        assert receive_all(peer) == joined(given_lists)
        assert written.messages == sum(len(m) > 0 for together in given_lists for m in together)


@CASES
@given(given_lists=lists, strategy=st.sampled_from(OF_THREADS), max_bytes=max_bytes)
def test_a_coalescing_socket(
    given_lists: list[list[Any]], strategy: tinygram.Strategy, max_bytes: int
) -> None:
    ours, peer = socket.socketpair()
    with peer:
        with tinygram.CoalescingSocket(ours, strategy=strategy, max_bytes=max_bytes) as sock:
            for together in given_lists:
                sock.send_many(together)
            sock.flush(LONGEST_S)
        assert receive_all(peer) == joined(given_lists)


@CASES
@given(given_lists=lists, strategy=st.sampled_from(OF_LOOPS), max_bytes=max_bytes)
@pytest.mark.parametrize("name", NAMES)
def test_a_transport(
    name: str, given_lists: list[list[Any]], strategy: tinygram.Strategy, max_bytes: int
) -> None:
    ours, peer = socket.socketpair()

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        for number, together in enumerate(given_lists):
            (transport.send_many if number % 2 else transport.writelines)(together)
            await asyncio.sleep(0)
        transport.close()
        assert await receive_rest(peer) == joined(given_lists)

    with ours, peer:
        Setup(name).run(program, strategy=strategy, max_bytes=max_bytes)


@pytest.mark.parametrize("name", NAMES)
def test_many_messages_of_a_transport_are_counted_and_refused_each_by_itself(name: str) -> None:
    ours, peer = socket.socketpair()

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        transport.send_many(b"%d" % number for number in range(10))
        transport.send_many([])
        await asyncio.sleep(0)
        assert transport.stats().messages == 10
        for wrong in ([b"a", bytearray(b"b"), b"x" * 101], [b"a", bytearray(b"b"), 5]):
            with pytest.raises((BufferError, TypeError)) as caught:
                transport.send_many(wrong)
            assert vars(caught.value)["taken_messages"] == 2
        transport.close()
        assert await receive_rest(peer) == b"0123456789abab"

    with ours, peer:
        Setup(name).run(program, strategy=tinygram.tick, max_buffered_bytes=100)


def test_the_parts_of_writelines_are_refused_as_one_and_leave_as_one() -> None:
    ours, peer = socket.socketpair()

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        with pytest.raises(BufferError, match="101 bytes"):
            transport.writelines([b"x"] * 101)
        transport.writelines([b"head ", bytearray(b"body")])
        assert peer.recv(100) == b"head body"
        transport.close()

    with ours, peer:
        Setup("loop-asyncio").run(program, max_buffered_bytes=100)
