"""A pool of threads, one for each of the client's connections, on blocking sockets."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress

import tinygram
from tinygram_bench.workloads.echo.servers.service import Data, Service

_HANDSHAKE_S = 60.0
"""How long a handshake may take: what event loops allow by default."""

Send = Callable[[Data], object]
"""Hands one reply over: `sock.sendall`, or the library's `send`."""
Echo = Callable[[Service, socket.socket, Send], None]
"""Serves one connection until its client leaves."""


def serve(service: Service, echo: Echo) -> None:
    """Accept connections and give each to a thread of the pool."""
    listener = service.listening()
    with ThreadPoolExecutor(service.order.connections) as pool:
        while True:
            sock, _ = listener.accept_known()
            pool.submit(_serve_one, service, sock, echo).add_done_callback(_end_with_failure)


def _serve_one(service: Service, sock: socket.socket, echo: Echo) -> None:
    with ExitStack() as stack:
        stack.enter_context(sock)
        stack.enter_context(suppress(ConnectionError))  # The client has left.
        if service.tls is not None:
            # The TLS context has imported it already; a server that does not encrypt starts without
            # it.
            import ssl

            sock.settimeout(_HANDSHAKE_S)
            try:
                sock = stack.enter_context(service.tls.wrap_socket(sock, server_side=True))
            except (ssl.SSLError, TimeoutError):
                return  # The client reports it.
            sock.settimeout(None)
        send: Send = sock.sendall
        if service.order.implementation == "tinygram":
            out = tinygram.CoalescingSocket(sock, strategy=service.order.strategy)
            send = stack.enter_context(out).send
        # Only now, when the library has made its own descriptor, are its writes counted, too.
        service.accepted(sock)
        echo(service, sock, send)


def _end_with_failure(served: Future[None]) -> None:
    """End the process when a thread has failed; otherwise the client would wait for its replies."""
    failure = served.exception()
    if failure is not None:
        print(f"{type(failure).__name__}: {failure}", file=sys.stderr, flush=True)
        os._exit(1)
