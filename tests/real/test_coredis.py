"""coredis multiplexes: a connection goes back to its pool before the answer has come.

(redis-py gives a connection to one command at a time, and opens another for the next.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from coredis import PureToken, Redis
from tests.real.certificate import Certificate
from tests.real.loops import Programs
from tests.real.redis_server import RedisServer

_COMMANDS = 1_000
Connect = Callable[[], Any]


@pytest.fixture
def client(redis: RedisServer, is_secure: bool, certificate: Certificate) -> Connect:
    """Makes a client of one connection, on the running loop."""
    context = certificate.client_context() if is_secure else None
    port = redis.tls_port if is_secure else redis.port
    return lambda: Redis(
        host="127.0.0.1", port=port or 0, ssl_context=context, max_connections=1, stream_timeout=20
    )


def test_a_thousand_commands_at_once_on_one_connection(
    run: Programs, client: Connect, redis: RedisServer
) -> None:
    async def program() -> tuple[int, list[Any], int]:
        observer = Redis(host="127.0.0.1", port=redis.port, max_connections=1)
        async with client() as multiplexed, observer:
            await multiplexed.ping()
            connection = await multiplexed.connection_pool.get_connection()
            multiplexed.connection_pool.release(connection)
            before = await _connections_made(observer)
            # The server answers no write until it is told to: so all are under way at once.
            await observer.client_pause(20_000, PureToken.WRITE)
            asking = [asyncio.ensure_future(multiplexed.incr("count")) for _ in range(_COMMANDS)]
            while (pending := connection.statistics.requests_pending) < _COMMANDS:
                await asyncio.sleep(0.001)
            await observer.client_unpause()
            answers = await asyncio.gather(*asking)
            stream = getattr(connection.stream, "transport_stream", connection.stream)
            run.check_kind(stream._transport)
            return int(pending), answers, await _connections_made(observer) - before

    assert run(program) == (_COMMANDS, list(range(1, _COMMANDS + 1)), 0)


def test_tasks_that_write_and_read_in_turn(run: Programs, client: Connect) -> None:
    async def program() -> bytes | None:
        async with client() as multiplexed:

            async def count() -> None:
                for _ in range(50):
                    await multiplexed.incr("count")

            await asyncio.gather(*(count() for _ in range(50)))
            answer: bytes | None = await multiplexed.get("count")
            return answer

    assert run(program) == b"2500"


async def _connections_made(observer: Any) -> int:
    return int((await observer.info("stats"))["total_connections_received"])
