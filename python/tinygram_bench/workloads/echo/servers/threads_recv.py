"""Threads with `sock.recv`: a new bytes object for each read."""

from __future__ import annotations

import socket

from tinygram_bench.workloads.echo.servers import thread_pool
from tinygram_bench.workloads.echo.servers.service import Service
from tinygram_bench.workloads.echo.servers.thread_pool import Send


def serve(service: Service) -> None:
    thread_pool.serve(service, _echo)


def _echo(service: Service, sock: socket.socket, send: Send) -> None:
    replies, buffer_bytes = service.replies(), service.buffer_bytes
    while data := sock.recv(buffer_bytes):
        for reply in replies(data):
            send(reply)
