"""redis-py against a real server: pipelines, transactions, large values, pub/sub."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from redis.asyncio import Redis
from tests.real.certificate import Certificate
from tests.real.loops import Programs
from tests.real.redis_server import RedisServer

# The client's own types say of most answers that they may or may not have to be awaited.
Connect = Callable[[], AbstractAsyncContextManager[Any]]


@pytest.fixture
def client(redis: RedisServer, is_secure: bool, certificate: Certificate) -> Connect:
    """Makes a client, on the running loop."""

    @asynccontextmanager
    async def connected() -> AsyncIterator[Any]:
        port = redis.tls_port if is_secure else redis.port
        chain = str(certificate.chain)
        async with Redis(
            host="127.0.0.1",
            port=port or 0,
            ssl=is_secure,
            ssl_ca_certs=chain,
            socket_timeout=20,
            # A connection over TLS loads the system's certificates first: many at once, on a slow
            # machine, can exceed the 5 s that it has unless told otherwise.
            socket_connect_timeout=20,
        ) as made:
            yield made

    return connected


def test_a_pipeline_of_a_thousand_commands(run: Programs, client: Connect) -> None:
    async def program() -> list[Any]:
        async with client() as redis:
            pipeline = redis.pipeline(transaction=False)
            for number in range(1_000):
                pipeline.set(f"key {number}", number)
                pipeline.get(f"key {number}")
            answers = list(await pipeline.execute())
            await _check_kind(run, redis)
            return answers

    assert run(program) == [answer for n in range(1_000) for answer in (True, b"%d" % n)]


def test_a_transaction_is_whole(run: Programs, client: Connect) -> None:
    async def program() -> list[Any]:
        async with client() as redis:

            async def add() -> None:
                for _ in range(5):
                    async with redis.pipeline(transaction=True) as pipeline:
                        await pipeline.incr("a").incr("b").execute()

            await asyncio.gather(*(add() for _ in range(10)))
            return list(await redis.mget("a", "b"))

    assert run(program) == [b"50", b"50"]


def test_plain_commands_in_turn(run: Programs, client: Connect) -> None:
    async def program() -> int:
        async with client() as redis:
            for _ in range(500):
                await redis.incr("count")
            await _check_kind(run, redis)
            return int(await redis.get("count") or 0)

    assert run(program) == 500


def test_a_large_value_arrives_whole_both_ways(run: Programs, client: Connect) -> None:
    value = bytes(range(256)) * (32 << 10)

    async def program() -> bytes | None:
        async with client() as redis:
            await redis.set("large", value)
            answer: bytes | None = await redis.get("large")
            return answer

    assert run(program) == value


def test_a_subscriber_hears_every_message_in_order(run: Programs, client: Connect) -> None:
    async def program() -> list[bytes]:
        async with client() as redis, redis.pubsub() as subscriber:
            await subscriber.subscribe("news")
            heard: list[bytes] = []

            async def publish() -> None:
                for number in range(1_000):
                    await redis.publish("news", number)

            publishing: asyncio.Task[None] | None = None
            async for message in subscriber.listen():
                if message["type"] == "subscribe":
                    publishing = asyncio.create_task(publish())
                else:
                    heard.append(message["data"])
                if len(heard) == 1_000:
                    break
            assert publishing is not None
            await publishing
            return heard

    assert run(program) == [b"%d" % number for number in range(1_000)]


async def _check_kind(run: Programs, redis: Any) -> None:
    connection = await redis.connection_pool.get_connection()
    run.check_kind(connection._writer.transport)
    await redis.connection_pool.release(connection)
