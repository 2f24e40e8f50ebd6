"""asyncio streams: a StreamReader, a StreamWriter and a task for each connection."""

from __future__ import annotations

import asyncio

from tinygram_bench.workloads.echo.servers.service import BACKLOG, Service


def serve(service: Service) -> None:
    with asyncio.Runner(loop_factory=service.make_loop) as runner:
        runner.run(_serve(service))


async def _serve(service: Service) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if service.is_stranger(writer.get_extra_info("peername")):
            writer.transport.abort()
            return
        service.accepted(writer.get_extra_info("socket"))
        replies, buffer_bytes = service.replies(), service.buffer_bytes
        try:
            while data := await reader.read(buffer_bytes):
                for reply in replies(data):
                    writer.write(reply)
                await writer.drain()
        except ConnectionError:
            return  # The client has left.
        finally:
            writer.close()

    listener = service.listening()
    # The transport decides how much it reads; the limit is how much is kept before it stops.
    limit = service.buffer_bytes
    server = await asyncio.start_server(
        echo, sock=listener, backlog=BACKLOG, limit=limit, ssl=service.tls
    )
    await server.serve_forever()
