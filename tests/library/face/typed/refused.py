"""What a type checker must find: a fault in each line that is marked, and in no other."""

from __future__ import annotations

import asyncio
import socket

import tinygram


async def on_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.read(100))


async def asynchronous() -> None:
    loop = asyncio.get_running_loop()
    await tinygram.open_connection("localhost", 80, strategi=tinygram.tick)  # refused
    await tinygram.open_connection("localhost", 80, max_bytes="big")  # refused
    await tinygram.open_connection("localhost", 80, strategy="tick")  # refused
    await tinygram.open_connection("localhost", 80, tinygram.tick)  # refused
    await tinygram.open_connection("localhost", 80, backlog=5)  # refused
    await tinygram.open_unix_connection("/run/server", strategi=tinygram.tick)  # refused
    await tinygram.open_unix_connection("/run/server", max_hold_us="1ms")  # refused
    await tinygram.start_server(on_stream, port=80, strategi=tinygram.tick)  # refused
    await tinygram.start_server(on_stream, port=80, max_bytes="big")  # refused
    await tinygram.start_unix_server(on_stream, "/run/server", max_byte=1)  # refused
    await tinygram.start_unix_server(on_stream, "/run/server", max_bytes=None)  # refused
    await tinygram.create_connection(asyncio.Protocol, "localhost", 80)  # refused
    await tinygram.create_connection(loop, asyncio.Protocol, "a", 80, max_hold=1)  # refused
    await tinygram.create_unix_connection(loop, asyncio.Protocol, "/a", max_hold=1)  # refused
    await tinygram.create_server(loop, asyncio.Protocol, "a", 80, max_bytes="big")  # refused
    await tinygram.create_unix_server(loop, asyncio.Protocol, "/a", max_bytes="big")  # refused
    _, writer = await tinygram.open_connection("localhost", 80)
    writer.transport.statistics()  # refused
    writer.transport.on_writable()  # refused
    writer.transport.write("text")  # refused
    tinygram.opne_connection("localhost", 80)  # refused


def blocking(sock: socket.socket) -> None:
    tinygram.batch(sock, strategi=tinygram.tick)  # refused
    tinygram.batch(sock, max_bytes="big")  # refused
    tinygram.batch(sock, tinygram.tick)  # refused
    tinygram.batch("localhost")  # refused
    tinygram.Batch(sock, maxbytes=1)  # refused
    tinygram.batch(sock).send("text")  # refused
    tinygram.CoalescingSocket(sock, strategi=tinygram.tick)  # refused
    tinygram.CoalescingSocket(sock, max_bytes="big")  # refused
    tinygram.CoalescingSocket(sock).send("text")  # refused
    tinygram.coalesce("10us")  # refused
    tinygram.competitive("5us")  # refused
    tinygram.new_event_loop(strategi=tinygram.tick)  # refused
    tinygram.new_event_loop(max_buffered_bytes="big")  # refused
