"""aiohttp's WebSockets: every message, in order, and the closing handshake."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import WSCloseCode, WSMsgType, web
from tests.real.certificate import Certificate
from tests.real.loops import Programs
from tests.real.web import serving

_MESSAGES = [f"message {number}" for number in range(5_000)]
_LARGE = bytes(3 << 20)


async def _echo(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(max_msg_size=0)
    await socket.prepare(request)
    async for message in socket:
        if message.type is WSMsgType.TEXT:
            await socket.send_str(message.data)
        elif message.type is WSMsgType.BINARY:
            await socket.send_bytes(message.data)
    return socket


_ROUTES = [web.get("/", _echo)]


@pytest.fixture
def secret(is_secure: bool, certificate: Certificate) -> Certificate | None:
    return certificate if is_secure else None


def test_many_small_messages_come_back_in_order(
    run_by: Programs, secret: Certificate | None
) -> None:
    async def echo(request: web.Request) -> web.WebSocketResponse:
        socket = await _echo(request)
        run_by.check_joins(request.transport)
        return socket

    async def program() -> list[str]:
        async with (
            serving([web.get("/", echo)], secret) as session,
            session.ws_connect("/") as socket,
        ):

            async def send() -> None:
                for message in _MESSAGES:
                    await socket.send_str(message)

            sending = asyncio.create_task(send())
            answers = [await socket.receive_str() for _ in _MESSAGES]
            await sending
            assert socket._conn is not None
            run_by.check_joins(socket._conn.transport)
            return answers

    assert run_by(program) == _MESSAGES


def test_a_large_message_between_small_ones(run: Programs, secret: Certificate | None) -> None:
    async def program() -> list[bytes]:
        async with (
            serving(_ROUTES, secret) as session,
            session.ws_connect("/", max_msg_size=0) as socket,
        ):
            for message in (b"before", _LARGE, b"after"):
                await socket.send_bytes(message)
            return [await socket.receive_bytes() for _ in range(3)]

    assert run(program) == [b"before", _LARGE, b"after"]


def test_what_is_sent_before_the_close_arrives_and_so_does_the_reason(
    run: Programs, secret: Certificate | None
) -> None:
    async def speak(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        for message in _MESSAGES[:10]:
            await socket.send_str(message)
        await socket.close(code=WSCloseCode.GOING_AWAY, message=b"enough")
        return socket

    async def program() -> tuple[list[str], int | None, str]:
        async with (
            serving([web.get("/", speak)], secret) as session,
            session.ws_connect("/", autoclose=False) as socket,
        ):
            heard = [await socket.receive_str() for _ in range(10)]
            last = await socket.receive()
            await socket.close()
            return heard, last.data, last.extra or ""

    assert run(program) == (_MESSAGES[:10], WSCloseCode.GOING_AWAY, "enough")
