"""websockets: one server broadcasts to two hundred clients."""

from __future__ import annotations

import asyncio

from tests.real.certificate import Certificate
from tests.real.loops import Programs
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, broadcast, serve

_CLIENTS = 200
_MESSAGES = [f"message {number}" for number in range(50)]


def test_every_client_gets_every_broadcast_message_in_order(
    run: Programs, is_secure: bool, certificate: Certificate
) -> None:
    async def program() -> list[list[str]]:
        joined: set[ServerConnection] = set()
        everybody = asyncio.Event()

        async def join(connection: ServerConnection) -> None:
            joined.add(connection)
            if len(joined) == _CLIENTS:
                everybody.set()
            await connection.wait_closed()

        async def listen(port: int) -> list[str]:
            scheme = "wss" if is_secure else "ws"
            context = certificate.client_context() if is_secure else None
            uri = f"{scheme}://localhost:{port}"
            async with connect(
                uri, host="127.0.0.1", ssl=context, compression=None, open_timeout=50
            ) as connection:
                return [str(await connection.recv()) for _ in _MESSAGES]

        context = certificate.server_context() if is_secure else None
        async with serve(
            join, "127.0.0.1", 0, ssl=context, compression=None, open_timeout=50
        ) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            listening = [asyncio.create_task(listen(port)) for _ in range(_CLIENTS)]
            await everybody.wait()
            for number, message in enumerate(_MESSAGES):
                broadcast(joined, message)
                if number % 10 == 9:
                    await asyncio.sleep(0)
            heard = await asyncio.gather(*listening)
            for connection in joined:
                run.check_kind(connection.transport)
            return heard

    assert run(program) == [_MESSAGES] * _CLIENTS
