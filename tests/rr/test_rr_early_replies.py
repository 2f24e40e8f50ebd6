"""A server that replies before it has the request fails the run: its figures would be too good."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from contextlib import ExitStack

import pytest
from tests.rr.peers import ahead, early, right
from tests.support.command import Command, Done
from tests.support.foreign_servers import after_first, peer

from tinygram_bench._native import CallContent
from tinygram_bench.links import Link
from tinygram_bench.processes.workers import RunError
from tinygram_bench.workloads.rr.calling import RUNTIMES, CallError, check_silent
from tinygram_bench.workloads.rr.calling.event_loop_callers import Connection
from tinygram_bench.workloads.rr.withheld import check_waits

# More than both ends' buffers hold: the server has replied before the request can have been sent.
LARGE_BYTES = 16 << 20
REQUEST_BYTES = 100
REPLY_BYTES = 4
BEFORE = (
    r"bytes of a reply came before request \d of a connection was sent: the server replies before"
)


def run_against(command: Command, port: int, request_bytes: int, *arguments: object) -> Done:
    return command.run(
        *("--rounds", 1, "--callers", "1x1", "--calls", 3, "--warm-up", 1, "--pin", "none"),
        *("--strategy", "nodelay", "--request", request_bytes, "--reply", REPLY_BYTES),
        *("--sends-per-request", 1, "--server", f"127.0.0.1:{port}", *arguments),
    )


def check_server_at(port: int, request_bytes: int) -> None:
    give_up_ns = time.monotonic_ns() + 60 * 10**9
    request = CallContent(request_bytes, REPLY_BYTES, 1).request(0)
    address = ("127.0.0.1", port)
    check_waits(address, request, REPLY_BYTES, give_up_ns, Link(), is_ours=False)


def test_a_reply_before_the_whole_request_is_told(command: Command) -> None:
    each_runtime = [word for runtime in RUNTIMES for word in ("--runtime", runtime)]
    with peer(early(LARGE_BYTES, REPLY_BYTES)) as port:
        done = run_against(command, port, LARGE_BYTES, *each_runtime)
    assert done.code == 1
    # On a connection for each request, and on one for each caller.
    assert len(done.runs) == 2 * len(RUNTIMES)
    for run in done.runs:
        assert run["failure"] == (
            "the server replied before it had the whole request: when only the request's last byte "
            "was not sent yet, 4 bytes of a reply had arrived"
        )


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("connections", ["per-caller", "shared"])
def test_a_reply_to_the_request_that_comes_next_is_told(
    command: Command, runtime: str, connections: str
) -> None:
    # Asked whether it answers, and whether it waits, it is right; measured, it is ahead.
    is_right = right(REQUEST_BYTES, REPLY_BYTES)
    is_ahead = ahead(REQUEST_BYTES, REPLY_BYTES)
    with peer(after_first(is_right, after_first(is_right, is_ahead))) as port:
        done = run_against(
            *(command, port, REQUEST_BYTES, "--runtime", runtime, "--connections", connections)
        )
    assert done.code == 1
    assert re.search(BEFORE, done.runs[0]["failure"])


@pytest.mark.parametrize("request_bytes", [1, REQUEST_BYTES])
def test_a_server_that_waits_passes(request_bytes: int) -> None:
    with peer(right(request_bytes, REPLY_BYTES)) as port:
        check_server_at(port, request_bytes)


def test_a_server_that_ends_connections_is_left_to_the_callers() -> None:
    with peer(lambda connection: connection.close()) as port:
        check_server_at(port, REQUEST_BYTES)


def test_a_server_that_is_gone_or_silent_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        content = CallContent(REQUEST_BYTES, REPLY_BYTES, 1)
        give_up_ns = time.monotonic_ns() + 200_000_000
        asked = (("127.0.0.1", port), content.request(0), REPLY_BYTES, give_up_ns, Link())
        with pytest.raises(RunError, match="did not reply to its first request in time"):
            check_waits(*asked, is_ours=False)
    with pytest.raises(
        RunError, match=f"connecting to 127.0.0.1:{port} failed: Connection refused"
    ):
        check_server_at(port, REQUEST_BYTES)


def test_a_server_elsewhere_that_is_cut_off_is_given_up_soon() -> None:
    """Its queue of connections is full, so that the kernel drops whatever asks for one more."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as stack:
        port = listener.getsockname()[1]
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        content = CallContent(REQUEST_BYTES, REPLY_BYTES, 1)
        begun_s = time.monotonic()
        give_up_ns = time.monotonic_ns() + 100 * 10**9
        asked = (("127.0.0.1", port), content.request(0), REPLY_BYTES, give_up_ns)
        with pytest.raises(RunError, match="did not reply to its first request in time"):
            check_waits(*asked, Link(is_elsewhere=True), is_ours=True)
        assert time.monotonic() - begun_s < 50


def test_a_look_leaves_the_bytes_and_takes_the_end_for_none() -> None:
    near, far = socket.socketpair()
    with near:
        with far:
            check_silent(near, 7)
            far.send(b"!")
            with pytest.raises(CallError, match="before request 7 of a connection"):
                check_silent(near, 7)
            assert near.recv(9) == b"!"
        check_silent(near, 7)


def test_asyncio_looks_at_what_the_kernel_holds_and_at_what_its_stream_holds() -> None:
    async def look(*, waits_for_stream: bool) -> None:
        near, far = socket.socketpair()
        with far:
            near.setblocking(False)
            reader, writer = await asyncio.open_connection(sock=near)
            connection = Connection(near, reader, writer, 0)
            connection.check_silent()
            far.send(b"reply!")
            if waits_for_stream:
                await reader.readexactly(5)
            with pytest.raises(CallError, match="before request 0 of a connection"):
                connection.check_silent()
            writer.close()

    for waits_for_stream in (False, True):
        asyncio.run(look(waits_for_stream=waits_for_stream))
