"""`loop.sock_recv` and `loop.sock_sendall`: a task for each connection, no transport."""

from __future__ import annotations

import asyncio
import socket

from tinygram_bench.workloads.echo.servers.on_loop import run
from tinygram_bench.workloads.echo.servers.service import Service


def serve(service: Service) -> None:
    run(service, _serve(service))


async def _serve(service: Service) -> None:
    loop = asyncio.get_running_loop()
    listener = service.listening()
    listener.setblocking(False)
    async with asyncio.TaskGroup() as tasks:
        while True:
            sock, peer = await loop.sock_accept(listener)
            if not listener.admit(sock.fileno(), peer):
                sock.close()
                continue
            service.accepted(sock)
            tasks.create_task(_echo(service, sock))


async def _echo(service: Service, sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    replies, buffer_bytes = service.replies(), service.buffer_bytes
    with sock:
        try:
            while data := await loop.sock_recv(sock, buffer_bytes):
                for reply in replies(data):
                    await loop.sock_sendall(sock, reply)
        except ConnectionError:
            return  # The client has left.
