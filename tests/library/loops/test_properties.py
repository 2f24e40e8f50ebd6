"""What arrives is the concatenation of what was written, whatever a program does in between.

With real sockets and real loops; the same with every fault of a socket and an exact clock is in
crates/core/src/coalescer/properties.rs.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.library.setups import (
    NAMES,
    STRATEGIES,
    Connector,
    Recorder,
    Setup,
    receive,
    receive_rest,
    wait_for,
)
from tests.library.wires import receive_all, waiting_bytes

import tinygram

SMALL_BUFFER_BYTES = 4096
CASES = settings(max_examples=100, deadline=None, derandomize=True)

sizes = st.one_of(st.integers(0, 300), st.integers(10_000, 30_000))
knobs = st.fixed_dictionaries(
    {
        "strategy": st.sampled_from([*STRATEGIES.values(), tinygram.coalesce(50)]),
        "max_bytes": st.integers(1, 100_000),
        "max_hold_us": st.one_of(st.none(), st.floats(1, 500)),
        "max_buffered_bytes": st.one_of(st.none(), st.integers(1, 100_000)),
    }
)


def steps_of(**steps: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[str, Any]]]:
    """Lists of named steps, each with its argument."""
    return st.lists(
        st.one_of([st.tuples(st.just(name), values) for name, values in steps.items()]),
        min_size=5,
        max_size=60,
    )


def small_pair() -> tuple[socket.socket, socket.socket]:
    """Two ends between which little fits."""
    ours, peer = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BUFFER_BYTES)
    return ours, peer


class Stream:
    """The bytes to send, each at its place; what was accepted so far."""

    def __init__(self, max_buffered_bytes: int | None) -> None:
        self.accepted = bytearray()
        self._is_bounded = max_buffered_bytes is not None

    def next(self, size: int) -> bytes:
        """The next message."""
        at = len(self.accepted)
        return bytes((at + 7 * offset) % 251 for offset in range(size))

    def next_parts(self, sizes: list[int]) -> list[bytes]:
        """The next message, in parts of these sizes."""
        message = self.next(sum(sizes))
        cuts = [0, *itertools.accumulate(sizes)]
        return [message[a:b] for a, b in itertools.pairwise(cuts)]

    def send_many(self, out: tinygram.Batch, messages: list[bytes]) -> None:
        """Send them, as many as are taken: a bound or the time may end that."""
        taken = len(messages)
        try:
            out.send_many(messages)
        except (BufferError, TimeoutError) as error:
            taken = error.taken_messages  # type: ignore[union-attr]
        self.accepted += b"".join(messages[:taken])

    def send(self, write: Callable[[Any], object], message: bytes, data: Any) -> None:
        """Write `data`, which is `message` in another form; only a bound may refuse it."""
        try:
            write(data)
        except BufferError:
            assert self._is_bounded
        else:
            self.accepted += message


class Flow(Recorder):
    """Knows whether it is paused; each pause has one resume."""

    is_paused = False

    def pause_writing(self) -> None:
        assert not self.is_paused
        self.is_paused = True

    def resume_writing(self) -> None:
        assert self.is_paused
        self.is_paused = False


loop_steps = steps_of(
    write=sizes,
    write_changing=sizes,
    writelines=st.lists(st.integers(0, 400), max_size=5),
    sleep=st.sampled_from([0, 0, 0, 0.0005]),
    receive=st.integers(1, 50_000),
    limits=st.one_of(st.none(), st.integers(0, 20_000)),
    wait_until_resumed=st.none(),
)


@CASES
@given(
    knobs=knobs,
    high=st.integers(0, 70_000),
    steps=loop_steps,
    end=st.sampled_from(["close", "write_eof"]),
)
@pytest.mark.parametrize("name", NAMES)
def test_a_connection_of_an_event_loop(
    name: str, knobs: dict[str, Any], high: int, steps: list[tuple[str, Any]], end: str
) -> None:
    ours, peer = small_pair()

    async def program(connect: Connector) -> None:
        protocol = Flow()
        transport = await connect.protocol(protocol, ours)
        transport.set_write_buffer_limits(high)
        stream = Stream(knobs["max_buffered_bytes"])
        received = bytearray()
        for step, argument in steps:
            match step:
                case "write":
                    message = stream.next(argument)
                    stream.send(transport.write, message, message)
                case "write_changing":
                    message = stream.next(argument)
                    buffer = bytearray(message)
                    stream.send(transport.write, message, buffer)
                    buffer[:] = bytes(argument)
                case "writelines":
                    parts = stream.next_parts(argument)
                    stream.send(transport.writelines, b"".join(parts), parts)
                case "sleep":
                    await asyncio.sleep(argument)
                case "receive":
                    count = min(argument, len(stream.accepted) - len(received))
                    received += await receive(peer, count)
                case "limits":
                    transport.set_write_buffer_limits(argument)
                case "wait_until_resumed":
                    received += await receive(peer, len(stream.accepted) - len(received))
                    await wait_for(lambda: not protocol.is_paused)
        getattr(transport, end)()
        received += await receive_rest(peer)
        assert received == stream.accepted
        assert not protocol.is_paused or end == "close"
        assert transport.get_write_buffer_size() == 0
        transport.close()
        assert await protocol.lost is None

    with ours, peer:
        Setup(name).run(program, **knobs)


batch_steps = steps_of(
    send=sizes,
    send_changing=sizes,
    send_many=st.lists(sizes, max_size=8),
    poll=st.none(),
    flush=st.none(),
    receive=st.none(),
)


@CASES
@given(knobs=knobs, steps=batch_steps)
def test_a_batch(knobs: dict[str, Any], steps: list[tuple[str, Any]]) -> None:
    ours, peer = small_pair()
    ours.settimeout(0.001)
    stream = Stream(knobs["max_buffered_bytes"])
    received = bytearray()

    def bounded(call: Callable[..., object], *arguments: Any) -> None:
        # The timeout ends the wait: what was handed over is held.
        with contextlib.suppress(TimeoutError):
            call(*arguments)

    def receive_some() -> None:
        while waiting := waiting_bytes(peer):
            received.extend(peer.recv(waiting))

    with ours, peer:
        out = tinygram.batch(ours, **knobs)
        for step, argument in steps:
            match step:
                case "send":
                    message = stream.next(argument)
                    stream.send(lambda data: bounded(out.send, data), message, message)
                case "send_changing":
                    message = stream.next(argument)
                    buffer = bytearray(message)
                    stream.send(lambda data: bounded(out.send, data), message, buffer)
                    buffer[:] = bytes(argument)
                case "send_many":
                    stream.send_many(out, stream.next_parts(argument))
                case "receive":
                    receive_some()
                case "poll" | "flush":
                    bounded(getattr(out, step))
        while out.held_bytes:
            receive_some()
            bounded(out.flush)
        ours.shutdown(socket.SHUT_WR)
        received += receive_all(peer)
        assert received == stream.accepted
        assert out.stats().bytes == len(received)
