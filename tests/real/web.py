"""An aiohttp application and a client of it, on the running loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import ClientSession, TCPConnector, web
from tests.real.certificate import Certificate

MAX_BYTES = 64 << 20


@asynccontextmanager
async def serving(
    routes: list[web.RouteDef], certificate: Certificate | None, *, connections: int = 100
) -> AsyncIterator[ClientSession]:
    """A session whose base address is a server with `routes`; over TLS with a certificate."""
    application = web.Application(client_max_size=MAX_BYTES)
    application.add_routes(routes)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        server_context = certificate.server_context() if certificate else None
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server_context).start()
        port = runner.addresses[0][1]
        client_context = certificate.client_context() if certificate else True
        connector = TCPConnector(limit=connections, ssl=client_context)
        scheme = "https" if certificate else "http"
        async with ClientSession(f"{scheme}://127.0.0.1:{port}", connector=connector) as session:
            yield session
    finally:
        await runner.cleanup()


def kept_transport(session: ClientSession) -> asyncio.Transport:
    """The transport of the one connection that the session keeps for its next request."""
    assert session.connector is not None
    ((kept,),) = session.connector._conns.values()
    transport = kept[0].transport
    assert transport is not None
    return transport
