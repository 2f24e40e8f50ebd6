"""An asyncio.Protocol: the event loop calls back with what it read into memory of its own."""

from __future__ import annotations

import asyncio
from typing import cast

from tinygram_bench.workloads.echo.servers.on_loop import run, serve_protocols
from tinygram_bench.workloads.echo.servers.service import Service


class Echo(asyncio.Protocol):
    """One connection; it stops reading while its replies are not taken."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._replies = service.replies()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._service.begin(transport)

    def data_received(self, data: bytes) -> None:
        for reply in self._replies(data):
            self._transport.write(reply)

    def pause_writing(self) -> None:
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()


def serve(service: Service) -> None:
    run(service, serve_protocols(service, lambda: Echo(service)))
