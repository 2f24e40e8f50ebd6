"""What a connection of an event loop cannot use is refused by an error that names it.

A socket is the loop's own business: what it says of one that cannot be used, ours says too.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Callable
from typing import Any

import pytest
from tests.library.setups import LONG, STRATEGIES, Connector, Recorder, Setup, receive
from tests.library.wires import Pair

import tinygram


def closed() -> socket.socket:
    sock = socket.socket()
    sock.close()
    return sock


def datagrams() -> socket.socket:
    return socket.socket(type=socket.SOCK_DGRAM)


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def never_connected() -> socket.socket:
    return socket.socket()


async def nobody(*_: object) -> None:
    raise AssertionError("it connected")


async def fault_of(opened: Any) -> str:
    """What a connection that writes one message fails with."""

    async def use() -> None:
        _, writer = await opened
        writer.write(b"message")
        await asyncio.sleep(0.005)
        writer.close()
        await writer.wait_closed()

    with pytest.raises((OSError, ValueError, RuntimeError)) as raised:
        await use()
    return repr(raised.value).partition("fd=")[0].partition(" 0x")[0]


@pytest.mark.parametrize("make", [closed, datagrams, listening, never_connected])
def test_a_socket_that_cannot_be_used(setup: Setup, make: Callable[[], socket.socket]) -> None:
    async def ours(connect: Connector) -> str:
        with make() as sock:
            return await fault_of(connect.streams(sock))

    async def the_loop_s(_: Connector) -> str:
        with make() as sock:
            return await fault_of(asyncio.open_connection(sock=sock))

    plain = Setup(setup.name.replace("loop-", "opened-"))
    assert setup.run(ours) == plain.run(the_loop_s)


@pytest.mark.parametrize("value", ["text", None, 5, [b"list"], {}])
@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_a_message_that_is_not_bytes_like(
    setup: Setup, unix_pair: Pair, strategy: tinygram.Strategy, value: Any
) -> None:
    ours, peer = unix_pair

    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), ours)
        transport.write(b"before;")
        kind = type(value).__name__
        with pytest.raises(TypeError, match=f"must be a bytes-like object, not {kind}"):
            transport.write(value)
        with pytest.raises(TypeError):
            transport.writelines([b"part", value])
        transport.write(b"after")
        transport.close()
        assert await receive(peer, 12) == b"before;after"
        assert transport.stats().messages == 2

    setup.run(program, strategy=strategy)


FAULTS: list[tuple[str, Any, type[Exception], str]] = [
    ("max_bytes", 0, ValueError, "max_bytes is 0: it must be between 1 and"),
    ("max_bytes", -1, ValueError, "max_bytes is -1: it must be between 1 and"),
    ("max_bytes", "64k", TypeError, "max_bytes is '64k': it must be a whole number of bytes"),
    ("max_buffered_bytes", 0, ValueError, "max_buffered_bytes is 0: it must be between 1 and"),
    ("max_buffered_bytes", 1.5, TypeError, "max_buffered_bytes is 1.5: it must be a whole number"),
    ("max_hold_us", 0, ValueError, "max_hold_us is 0: it must be between 0.001 and"),
    ("max_hold_us", -1, ValueError, "max_hold_us is -1: it must be between 0.001 and"),
    ("max_hold_us", math.nan, ValueError, "max_hold_us is nan: it must be between 0.001 and"),
    ("max_hold_us", "1ms", TypeError, "max_hold_us is '1ms': it must be a number of micro"),
    ("strategy", "tick", TypeError, "strategy is 'tick': it must be tinygram.adaptive, tick"),
    (
        "strategy",
        tinygram.Strategy("warp"),
        ValueError,
        'unknown strategy "warp": it must be tinygram.adaptive, tick',
    ),
]


@pytest.mark.parametrize(("knob", "value", "kind", "fault"), FAULTS)
def test_a_knob_that_cannot_be_used(
    setup: Setup, unix_pair: Pair, knob: str, value: Any, kind: type[Exception], fault: str
) -> None:
    """Said before anything is connected, by every face."""
    knobs: Any = {knob: value}

    async def program(_: Connector) -> None:
        loop = asyncio.get_running_loop()
        faces: list[Any] = [
            tinygram.open_connection(sock=unix_pair[0], **knobs),
            tinygram.open_unix_connection("nowhere", **knobs),
            tinygram.create_connection(loop, asyncio.Protocol, sock=unix_pair[0], **knobs),
            tinygram.create_unix_connection(loop, asyncio.Protocol, "nowhere", **knobs),
            tinygram.create_server(loop, asyncio.Protocol, **knobs),
            tinygram.create_unix_server(loop, asyncio.Protocol, "nowhere", **knobs),
            tinygram.start_server(nobody, **knobs),
            tinygram.start_unix_server(nobody, "nowhere", **knobs),
        ]
        for face in faces:
            with pytest.raises(kind, match=fault):
                await face

    setup.run(program)
    with pytest.raises(kind, match=fault):
        tinygram.new_event_loop(**knobs)


def test_a_knob_that_there_is_not(setup: Setup, unix_pair: Pair) -> None:
    async def program(_: Connector) -> None:
        with pytest.raises(TypeError, match="max_byte"):
            await tinygram.open_connection(sock=unix_pair[0], max_byte=1)  # type: ignore[call-arg]

    setup.run(program)
    with pytest.raises(TypeError, match="max_byte"):
        tinygram.new_event_loop(max_byte=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "base", [None, "uvloop", asyncio.BaseEventLoop, asyncio.AbstractEventLoop, object], ids=str
)
def test_a_base_that_is_none(base: Any) -> None:
    with pytest.raises(TypeError, match=r"asyncio\.SelectorEventLoop or uvloop\.Loop") as raised:
        tinygram.new_event_loop(base)
    assert f"base is {base!r}" in str(raised.value)


@pytest.mark.parametrize(("high", "low"), [(-1, None), (10, 20), (10, -1), (None, -1)])
def test_impossible_water_marks(
    setup: Setup, unix_pair: Pair, high: int | None, low: int | None
) -> None:
    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), unix_pair[0])
        before = transport.get_write_buffer_limits()
        with pytest.raises(ValueError, match=r"high .* must be >= low .* must be >= 0"):
            transport.set_write_buffer_limits(high, low)
        assert transport.get_write_buffer_limits() == before
        transport.close()

    setup.run(program)


def test_an_empty_message_is_none(setup: Setup, unix_pair: Pair) -> None:
    async def program(connect: Connector) -> None:
        transport = await connect.protocol(Recorder(), unix_pair[0])
        transport.write(b"")
        transport.writelines([])
        transport.writelines([b"", bytearray()])
        assert transport.get_write_buffer_size() == 0
        assert transport.stats().messages == 0
        transport.close()

    setup.run(program, strategy=LONG)
