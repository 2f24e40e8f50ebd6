"""aiohttp's HTTP, client and server: what a program sends is what its peer gets, whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from random import Random
from typing import Any

import pytest
from aiohttp import web
from tests.real.certificate import Certificate
from tests.real.loops import Programs
from tests.real.web import kept_transport, serving

_BODY = Random(1).randbytes(8 << 20)
_PIECES = [b"%d," % number for number in range(5_000)]


async def _echo(request: web.Request) -> web.Response:
    return web.Response(body=await request.read())


async def _digest(request: web.Request) -> web.Response:
    digest = sha256()
    async for piece in request.content.iter_any():
        digest.update(piece)
    return web.Response(text=digest.hexdigest())


_ROUTES = [web.post("/echo", _echo), web.post("/digest", _digest)]


@pytest.fixture
def secret(is_secure: bool, certificate: Certificate) -> Certificate | None:
    return certificate if is_secure else None


def test_a_large_body_arrives_whole_both_ways(run: Programs, secret: Certificate | None) -> None:
    async def program() -> bytes:
        async with serving(_ROUTES, secret) as session, session.post("/echo", data=_BODY) as answer:
            return await answer.read()

    assert run(program) == _BODY


def test_a_response_streamed_in_small_pieces_arrives_whole(
    run_by: Programs, secret: Certificate | None
) -> None:
    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in _PIECES:
            await response.write(piece)
        await response.write_eof()
        run_by.check_joins(request.transport)
        return response

    async def program() -> bytes:
        routes = [web.get("/", stream)]
        async with serving(routes, secret) as session, session.get("/") as answer:
            return await answer.read()

    assert run_by(program) == b"".join(_PIECES)


def test_a_request_streamed_by_a_generator_arrives_whole(
    run: Programs, secret: Certificate | None
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in _PIECES:
            yield piece
            await asyncio.sleep(0)

    async def program() -> str:
        async with (
            serving(_ROUTES, secret) as session,
            session.post("/digest", data=pieces()) as answer,
        ):
            return await answer.text()

    assert run(program) == sha256(b"".join(_PIECES)).hexdigest()


def test_requests_in_turn_keep_one_connection(run: Programs, secret: Certificate | None) -> None:
    peers: set[Any] = set()

    async def remember(request: web.Request) -> web.Response:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        if len(request.query["number"]) > 1:
            run.check_kind(request.transport)
        return web.Response(text=request.query["number"])

    async def program() -> list[str]:
        answers = []
        async with serving([web.get("/", remember)], secret) as session:
            for number in range(200):
                async with session.get("/", params={"number": number}) as answer:
                    answers.append(await answer.text())
            run.check_kind(kept_transport(session))
        return answers

    assert run(program) == [str(number) for number in range(200)]
    assert len(peers) == 1


def test_a_hundred_connections_get_their_own_answers(
    run: Programs, secret: Certificate | None
) -> None:
    async def program() -> list[bytes]:
        async with serving(_ROUTES, secret) as session:

            async def ask(number: int) -> bytes:
                async with session.post("/echo", data=b"%d" % number) as answer:
                    return await answer.read()

            return await asyncio.gather(*map(ask, range(1_000)))

    assert run(program) == [b"%d" % number for number in range(1_000)]
