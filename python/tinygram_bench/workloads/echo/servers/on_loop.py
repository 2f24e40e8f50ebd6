"""What the servers on event loops have in common: their loop, and how it accepts and encrypts.

It imports what they use before they serve, because a server then freezes what there is
(../server.py).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from tinygram_bench.host.network.connections import BACKLOG, Listener
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.workloads.echo.servers.service import Service

MakeProtocol = Callable[[], asyncio.BaseProtocol]


def run(service: Service, serving: Coroutine[Any, Any, None]) -> None:
    """Serve on an event loop of the order's runtime."""
    order = service.order
    strategy = order.strategy if order.implementation == "tinygram" else None
    with asyncio.Runner(loop_factory=loop_factory(order.runtime, strategy)) as runner:
        runner.run(serving)


async def serve_protocols(service: Service, make_protocol: MakeProtocol) -> None:
    """Serve forever on the running loop; the transports are those of the implementation.

    A loop that accepts a connection begins TLS with the first byte, but a token comes before that.
    """
    order = service.order
    if not service.asks_at_accept:
        await _serve_accepted(service, service.listening(), make_protocol)
    elif order.runtime == "uvloop" and order.implementation != "aiofastnet":
        await _serve_uvloop(service, make_protocol)
    else:
        await _serve_accepted(service, service.listening(_KnownAlone), make_protocol)


async def _serve_accepted(
    service: Service, listener: socket.socket, make_protocol: MakeProtocol
) -> None:
    """Serve connections that the loop accepts."""
    loop = asyncio.get_running_loop()
    if service.order.implementation == "aiofastnet":
        import aiofastnet

        server = await aiofastnet.create_server(
            loop, make_protocol, sock=listener, backlog=BACKLOG, ssl=service.tls
        )
    else:
        server = await loop.create_server(
            make_protocol, sock=listener, backlog=BACKLOG, ssl=service.tls
        )
    await server.serve_forever()


async def _serve_uvloop(service: Service, make_protocol: MakeProtocol) -> None:
    """Serve connections that are accepted here, since uvloop's server calls no Python socket."""
    loop = asyncio.get_running_loop()
    listener = service.listening()
    listener.setblocking(False)

    async def encrypt(sock: socket.socket) -> None:
        try:
            await loop.connect_accepted_socket(make_protocol, sock, ssl=service.tls)
        except OSError:
            # A handshake that fails, or takes a minute, is reported by the client.
            sock.close()

    async with asyncio.TaskGroup() as handshakes:
        while True:
            sock, peer = await loop.sock_accept(listener)
            if listener.admit(sock.fileno(), peer):
                handshakes.create_task(encrypt(sock))
            else:
                sock.close()
                # Let other connections have their turn, however many strangers there are.
                await asyncio.sleep(0)


class _KnownAlone(Listener):
    """A listener that never hands over a stranger's connection, whoever accepts."""

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        return self.accept_known()
