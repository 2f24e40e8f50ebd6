"""uvicorn, started by its own command with `--loop tinygram:new_event_loop`."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_LONGEST_S = 30.0

APPLICATION = '''
import asyncio, json, os, socket, stat


def accepted_sockets():
    """TCP_NODELAY of each TCP connection of this process."""
    for name in os.listdir("/proc/self/fd"):
        try:
            is_socket = stat.S_ISSOCK(os.fstat(int(name)).st_mode)
        except OSError:
            continue  # What the directory was listed by.
        if is_socket:
            with socket.socket(fileno=os.dup(int(name))) as sock:
                if sock.family == socket.AF_INET and is_connected(sock):
                    yield sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def is_connected(sock):
    try:
        sock.getpeername()
    except OSError:
        return False
    return True


async def application(scope, receive, send):
    body = b""
    while True:
        event = await receive()
        body += event["body"]
        if not event["more_body"]:
            break
    if scope["path"] == "/chunks":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(500):
            part = b"part %d;" % number
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body"})
        return
    answer = body
    if scope["path"] == "/about":
        loop = type(asyncio.get_running_loop()).__name__
        answer = json.dumps({"loop": loop, "nodelay": list(accepted_sockets())}).encode()
    length = (b"content-length", b"%d" % len(answer))
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": answer})
'''


@contextmanager
def uvicorn(folder: Path, *options: str) -> Iterator[int]:
    """The server's port; it ends by SIGTERM, with status 0 and without a warning."""
    (folder / "app.py").write_text(APPLICATION)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "app:application"]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--lifespan", "off", "--no-access-log", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said: list[str] = []
    is_ready = threading.Event()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if "Application startup" in line or "Uvicorn running on" in line:
                is_ready.set()

    reading = threading.Thread(target=read)
    reading.start()
    try:
        assert is_ready.wait(_LONGEST_S), said
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_LONGEST_S)
        finally:
            process.kill()
            process.wait()
            reading.join(_LONGEST_S)
    assert not re.search("RuntimeWarning|Traceback|ERROR", "".join(said)), said
    # uvicorn ends as the signal would have ended it, where it has no workers.
    assert process.returncode in (0, -signal.SIGTERM), said


def connect(port: int) -> http.client.HTTPConnection:
    """Once something listens: uvicorn's workers do after their parent has said so."""
    give_up_at = time.monotonic() + _LONGEST_S
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_LONGEST_S)
        try:
            connection.connect()
            return connection
        except ConnectionRefusedError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.01)


def ask(connection: http.client.HTTPConnection, path: str, body: bytes | None = None) -> bytes:
    connection.request("GET" if body is None else "POST", path, body)
    response = connection.getresponse()
    assert response.status == 200
    return response.read()


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("parser", ["h11", "httptools"])
def test_every_response_is_whole_and_on_our_loop(tmp_path: Path, parser: str, workers: str) -> None:
    """TCP_NODELAY too: asyncio leaves it off on connections of a socket that it did not make."""
    options = ("--loop", "tinygram:new_event_loop", "--http", parser, "--workers", workers)
    with uvicorn(tmp_path, *options) as port:
        for _ in range(4):
            connection = connect(port)
            about: dict[str, Any] = json.loads(ask(connection, "/about"))
            assert about["loop"].startswith("Coalescing")
            assert about["nodelay"]
            assert all(about["nodelay"])
            for _ in range(20):
                chunks = ask(connection, "/chunks")
                assert chunks == b"".join(b"part %d;" % number for number in range(500))
                body = os.urandom(100_000)
                assert ask(connection, "/echo", body) == body
            connection.close()


def test_a_loop_with_knobs_is_a_function_of_the_program_s_own(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(
        "import functools, tinygram, uvloop\n"
        "new_loop = functools.partial(\n"
        "    tinygram.new_event_loop, uvloop.Loop, strategy=tinygram.tick\n"
        ")\n"
    )
    with uvicorn(tmp_path, "--loop", "loops:new_loop") as port:
        connection = connect(port)
        assert json.loads(ask(connection, "/about"))["loop"] == "CoalescingLoop"
        assert ask(connection, "/chunks").endswith(b"part 499;")
        connection.close()
