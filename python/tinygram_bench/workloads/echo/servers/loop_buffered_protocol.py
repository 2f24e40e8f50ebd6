"""An asyncio.BufferedProtocol: the event loop reads into a buffer of ours."""

from __future__ import annotations

import asyncio
from typing import cast

from tinygram_bench.workloads.echo.servers.on_loop import run, serve_protocols
from tinygram_bench.workloads.echo.servers.service import Service


class Echo(asyncio.BufferedProtocol):
    """One connection; it stops reading while its replies are not taken."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._replies = service.replies()
        # A slice of a bytearray would be a copy, into which asyncio's TLS would read all but one
        # record.
        self._buffer = memoryview(bytearray(service.buffer_bytes))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._service.begin(transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the size is ours to say
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Send back what was read: a copy, as the transport may keep it beyond the next read."""
        for reply in self._replies(bytes(self._buffer[:nbytes])):
            self._transport.write(reply)

    def pause_writing(self) -> None:
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()


def serve(service: Service) -> None:
    run(service, serve_protocols(service, lambda: Echo(service)))
