"""The four ways to have a coalescing connection in an event loop.

`opened-asyncio` and `opened-uvloop`: tinygram's functions on a loop that is not ours;
`loop-asyncio` and `loop-uvloop`: the loop's own functions on `tinygram.new_event_loop`.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import tinygram

T = TypeVar("T")
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

NAMES = tuple(f"{kind}-{base}" for kind in ("opened", "loop") for base in ("asyncio", "uvloop"))
STRATEGIES = {
    "nodelay": tinygram.nodelay,
    "nagle": tinygram.nagle,
    "tick": tinygram.tick,
    "adaptive": tinygram.adaptive,
    "coalesce": tinygram.coalesce(500),
    "competitive": tinygram.competitive(500),
}
LONG = tinygram.coalesce(60e6)
"""Holds for a minute: whatever leaves earlier was not waited for."""


class Connector:
    """Makes connections of one set-up, inside its running loop."""

    def __init__(self, is_ours: bool, knobs: dict[str, Any]) -> None:
        self._is_ours = is_ours
        self._knobs = knobs

    async def streams(self, sock: socket.socket) -> Streams:
        """Reader and writer on a connected socket."""
        if self._is_ours:
            return await asyncio.open_connection(sock=sock)
        return await tinygram.open_connection(sock=sock, **self._knobs)

    async def protocol(self, protocol: asyncio.BaseProtocol, sock: socket.socket) -> Any:
        """The transport of this protocol on a connected socket."""
        loop = asyncio.get_running_loop()
        if self._is_ours:
            made: Any = await loop.create_connection(lambda: protocol, sock=sock)
        else:
            made = await tinygram.create_connection(
                loop, lambda: protocol, sock=sock, **self._knobs
            )
        transport, _ = made
        assert isinstance(transport, tinygram.Transport)
        return transport


class Setup:
    """One of the four; `name` is one of `NAMES`."""

    def __init__(self, name: str) -> None:
        kind, base = name.split("-")
        self.name = name
        self.is_ours = kind == "loop"
        self.is_uvloop = base == "uvloop"
        self._base = _uvloop_class() if self.is_uvloop else asyncio.SelectorEventLoop

    def new_loop(self, **knobs: Any) -> asyncio.AbstractEventLoop:
        """A new loop; its owner closes it."""
        if self.is_ours:
            return tinygram.new_event_loop(self._base, **knobs)
        loop: asyncio.AbstractEventLoop = self._base()
        return loop

    def connector(self, **knobs: Any) -> Connector:
        """For a loop of `new_loop` with the same knobs."""
        return Connector(self.is_ours, knobs)

    def run(self, program: Callable[[Connector], Awaitable[T]], **knobs: Any) -> T:
        """Run it to its end, in a minute at most; what the loop was told went wrong, fails."""
        told: list[dict[str, Any]] = []

        async def bounded() -> T:
            asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(what))
            async with asyncio.timeout(60):
                return await program(self.connector(**knobs))

        with asyncio.Runner(loop_factory=lambda: self.new_loop(**knobs)) as runner:
            result = runner.run(bounded())
        assert not told, told
        return result


class Recorder(asyncio.Protocol):
    """Notes what the transport tells; `lost` is done when the connection is."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.told: list[str] = []
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self.received += data

    def eof_received(self) -> bool:
        self.told.append("eof")
        return False

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        self.told.append("lost")
        self.lost.set_result(exc)


async def receive(peer: socket.socket, count: int) -> bytes:
    """`count` bytes at the peer, while the loop runs; EOFError when the stream ends first."""
    peer.setblocking(False)
    loop = asyncio.get_running_loop()
    received = bytearray()
    while len(received) < count:
        chunk = await loop.sock_recv(peer, min(count - len(received), 1 << 18))
        if not chunk:
            raise EOFError(f"{len(received)} of {count} bytes came: {bytes(received[:80])!r}")
        received += chunk
    return bytes(received)


async def receive_rest(peer: socket.socket) -> bytes:
    """Everything at the peer up to the end of the stream, while the loop runs."""
    peer.setblocking(False)
    loop = asyncio.get_running_loop()
    received = bytearray()
    while chunk := await loop.sock_recv(peer, 1 << 18):
        received += chunk
    return bytes(received)


async def wait_for(holds: Callable[[], bool]) -> None:
    """Let the loop run until a condition holds; the test's own time bounds it."""
    while not holds():
        await asyncio.sleep(0.001)


def _uvloop_class() -> Any:
    if os.environ.get("TINYGRAM_REQUIRE_ALL") or importlib.util.find_spec("uvloop"):
        return importlib.import_module("uvloop").Loop
    # Programs that tests start have set-ups, too, and most of them would import it for nothing.
    import pytest

    return pytest.importorskip("uvloop").Loop
