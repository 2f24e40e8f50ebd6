"""Threads with `sock.recvmsg_into`: as `recv_into`, with room for control messages beside."""

from __future__ import annotations

import socket

from tinygram_bench.workloads.echo.servers import thread_pool
from tinygram_bench.workloads.echo.servers.service import Service
from tinygram_bench.workloads.echo.servers.thread_pool import Send


def serve(service: Service) -> None:
    thread_pool.serve(service, _echo)


def _echo(service: Service, sock: socket.socket, send: Send) -> None:
    buffer = memoryview(bytearray(service.buffer_bytes))
    buffers = [buffer]
    if service.sends_whole_buffer:
        while sock.recvmsg_into(buffers)[0]:
            send(buffer)
        return
    replies = service.replies()
    while count := sock.recvmsg_into(buffers)[0]:
        for reply in replies(buffer[:count]):
            send(reply)
