"""Protocols that write down what their transport calls, and in what order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import groupby


class Calls(asyncio.BaseProtocol):
    """What was called; a reaction runs inside its call."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self._received = bytearray()
        self.lost_with: Exception | None = None
        self.answer_to_eof: bool | None = None
        self.reactions: dict[str, Callable[[], object]] = {}
        self._called = asyncio.Event()
        self._transport: asyncio.Transport | None = None

    @property
    def received(self) -> bytes:
        return bytes(self._received)

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None, "connection_made was not called yet"
        return self._transport

    @property
    def is_paused(self) -> bool:
        return self.calls.count("pause_writing") > self.calls.count("resume_writing")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.adopt(transport)
        self.note("connection_made")

    def adopt(self, transport: asyncio.BaseTransport) -> None:
        # Not `isinstance(…, asyncio.Transport)`: TLS transports of uvloop are none.
        self._transport = transport  # type: ignore[assignment]

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost_with = exc
        self.note("connection_lost")

    def pause_writing(self) -> None:
        self.note("pause_writing")

    def resume_writing(self) -> None:
        self.note("resume_writing")

    def eof_received(self) -> bool | None:
        self.note("eof_received")
        return self.answer_to_eof

    def note(self, call: str) -> None:
        self.calls.append(call)
        self._called.set()
        if call in self.reactions:
            self.reactions[call]()

    async def until(self, condition: Callable[[], object]) -> None:
        """Return once the condition holds; it is looked at after each call."""
        while not condition():
            self._called.clear()
            await self._called.wait()

    async def called(self, call: str, times: int = 1) -> None:
        await self.until(lambda: self.calls.count(call) >= times)

    async def has_received(self, count: int) -> None:
        await self.until(lambda: len(self._received) >= count)

    def assert_order(self) -> None:
        """The order of calls that asyncio's documentation promises, after the end."""
        flow = [call for call in self.calls if call.endswith("_writing")]
        assert flow == (["pause_writing", "resume_writing"] * len(flow))[: len(flow)]
        others = [call for call in self.calls if not call.endswith("_writing")]
        assert [call for call, _ in groupby(others)] in (
            ["connection_made", *data, *eof, "connection_lost"]
            for data in ([], ["data"])
            for eof in ([], ["eof_received"])
        )
        assert self.calls.count("connection_made") == self.calls.count("connection_lost") == 1
        assert self.calls.count("eof_received") <= 1


class Recorder(Calls, asyncio.Protocol):
    """A protocol that is handed its bytes."""

    def data_received(self, data: bytes) -> None:
        assert data
        self._received += data
        self.note("data")


class BufferedRecorder(Calls, asyncio.BufferedProtocol):
    """A protocol that gives the buffer its bytes are read into."""

    def __init__(self, buffer_bytes: int = 4096) -> None:
        super().__init__()
        self._buffer = bytearray(buffer_bytes)

    # A view, because asyncio's TLS slices the buffer and means to fill the slice.
    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        return memoryview(self._buffer)

    def buffer_updated(self, nbytes: int) -> None:
        assert 0 < nbytes <= len(self._buffer)
        self._received += self._buffer[:nbytes]
        self.note("data")
