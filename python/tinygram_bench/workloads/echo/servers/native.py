"""The limit: one native thread around epoll, with the library's own strategies."""

from __future__ import annotations

from tinygram_bench import _native
from tinygram_bench.workloads.echo.order import PER_READ
from tinygram_bench.workloads.echo.servers.service import Service


def serve(service: Service) -> None:
    order = service.order
    is_per_read = order.reply == PER_READ
    server = _native.EchoServer(
        0,
        order.buffer_bytes,
        None if is_per_read else order.message_bytes,
        None if is_per_read else (order.strategy.name, order.strategy.duration_ns),
        order.congestion_control,
        service.sends_whole_buffer,
        order.host,
        # Room for as many strangers as there are connections of the bench.
        2 * order.connections,
        order.client.admission,
    )
    service.strangers = lambda: server.strangers
    service.announce(server.port)
    server.serve()
