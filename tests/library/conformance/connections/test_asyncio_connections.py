"""How connections come about, what they tell of themselves, and what sends a file."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from tests.library.conformance.channels import Channel, pair, pattern, socket_of
from tests.library.conformance.loops import Loop
from tests.library.conformance.recorder import Recorder


def listening_socket() -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    return listener


async def end_both(ours: Recorder, peer: Recorder) -> None:
    ours.transport.close()
    await ours.called("connection_lost")
    await peer.called("connection_lost")


async def test_every_kind_of_connection_carries_both_ways(every: Channel) -> None:
    async with pair(every) as (ours, peer):
        ours.transport.write(b"there")
        peer.transport.write(b"back")
        await peer.has_received(len("there"))
        await ours.has_received(len("back"))
        assert (peer.received, ours.received) == (b"there", b"back")


async def test_connections_over_sockets_that_were_made_before() -> None:
    loop = asyncio.get_running_loop()
    client, accepted = Recorder(), Recorder()
    listener = listening_socket()
    server = await loop.create_server(lambda: accepted, sock=listener)
    assert server.sockets[0].getsockname() == listener.getsockname()
    connecting = socket.create_connection(listener.getsockname())
    transport, protocol = await loop.create_connection(lambda: client, sock=connecting)
    assert protocol is client
    transport.write(b"one,")
    transport.write(b"two")
    await accepted.has_received(len("one,two"))
    accepted.transport.write(b"three")
    await client.has_received(len("three"))
    await end_both(client, accepted)
    server.close()
    await server.wait_closed()


async def test_unix_connections_over_a_socket_pair() -> None:
    loop = asyncio.get_running_loop()
    left, right = Recorder(), Recorder()
    left_socket, right_socket = socket.socketpair()
    await loop.create_unix_connection(lambda: left, sock=left_socket)
    await loop.create_unix_connection(lambda: right, sock=right_socket)
    left.transport.write(pattern(100_000))
    await right.has_received(100_000)
    assert right.received == pattern(100_000)
    await end_both(left, right)


async def test_a_connection_that_somebody_else_accepted() -> None:
    loop = asyncio.get_running_loop()
    listener = listening_socket()
    client, accepted = Recorder(), Recorder()
    await loop.create_connection(lambda: client, *listener.getsockname())
    sock, _ = await loop.sock_accept(listener)
    listener.close()
    transport, protocol = await loop.connect_accepted_socket(lambda: accepted, sock)
    assert protocol is accepted
    assert transport is accepted.transport
    client.transport.write(b"question")
    await accepted.has_received(len("question"))
    transport.write(b"answer")
    transport.close()
    await client.called("connection_lost")
    assert client.received == b"answer"
    await accepted.called("connection_lost")


async def test_nobody_listening_is_a_connection_error() -> None:
    listener = listening_socket()
    address = listener.getsockname()
    listener.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.get_running_loop().create_connection(Recorder, *address)


async def test_a_closed_server_accepts_nobody_and_keeps_whom_it_has(plain: Channel) -> None:
    client, accepted = Recorder(), Recorder()
    server = await plain.serve(lambda: accepted)
    assert server.is_serving()
    await plain.connect(lambda: client, server)
    await accepted.called("connection_made")
    address = server.sockets[0].getsockname()
    server.close()
    assert not server.is_serving()
    assert not server.sockets
    with socket.socket(socket.AF_UNIX if plain.kind == "unix" else socket.AF_INET) as late:
        await asyncio.sleep(0)
        with pytest.raises((ConnectionRefusedError, FileNotFoundError)):
            late.connect(address)
    client.transport.write(b"still here")
    await accepted.has_received(len("still here"))
    await end_both(client, accepted)
    await server.wait_closed()


async def test_a_server_calls_its_factory_for_each_connection(plain: Channel) -> None:
    accepted: list[Recorder] = []

    def factory() -> Recorder:
        accepted.append(Recorder())
        return accepted[-1]

    clients: list[Recorder] = []
    async with await plain.serve(factory) as server:
        for number in range(5):
            transport, protocol = await plain.connect(Recorder, server)
            assert isinstance(protocol, Recorder)
            assert transport is protocol.transport
            protocol.transport.write(b"%d" % number)
            clients.append(protocol)
        for client in clients:
            client.transport.close()
            await client.called("connection_lost")
        for end in accepted:
            await end.called("connection_lost")
        assert sorted(end.received for end in accepted) == [b"0", b"1", b"2", b"3", b"4"]


async def test_what_a_connection_tells_of_itself(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        tell = ours.transport.get_extra_info
        shown = socket_of(ours.transport)
        assert shown.fileno() > 0
        assert shown.family == (socket.AF_UNIX if plain.kind == "unix" else socket.AF_INET)
        assert tell("sockname") == shown.getsockname()
        assert tell("peername") == shown.getpeername()
        assert tell("sockname") == peer.transport.get_extra_info("peername")
        assert tell("no such thing") is None
        assert tell("no such thing", "a default") == "a default"


async def test_small_writes_do_not_wait_for_acknowledgements() -> None:
    """TCP_NODELAY is on by default, as asyncio's documentation says since Python 3.6."""
    loop = asyncio.get_running_loop()
    client, accepted = Recorder(), Recorder()
    server = await loop.create_server(lambda: accepted, "127.0.0.1", 0)
    await loop.create_connection(lambda: client, *server.sockets[0].getsockname())
    await accepted.called("connection_made")
    for end in (client, accepted):
        assert socket_of(end.transport).getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    await end_both(client, accepted)
    server.close()
    await server.wait_closed()


async def test_a_transport_can_be_shown_in_every_state(channel: Channel) -> None:
    async with pair(channel) as (ours, peer):
        for state in ("open", "written to", "closing", "closed"):
            if state == "written to":
                ours.transport.write(b"x")
            elif state == "closing":
                ours.transport.close()
            elif state == "closed":
                await ours.called("connection_lost")
            shown = repr(ours.transport)
            assert shown.startswith("<")
            assert shown.endswith(">")
        await peer.called("connection_lost")


async def test_a_file_is_sent_between_what_is_written(
    plain: Channel, loop: Loop, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(pattern(300_000))
    async with pair(plain) as (ours, peer):
        ours.transport.write(b"before,")
        ours.transport.write(b"before;")
        running = asyncio.get_running_loop()
        with path.open("rb") as file:
            if loop.can_send_files:
                assert await running.sendfile(ours.transport, file, 1_000, 200_000) == 200_000
                between = pattern(300_000)[1_000:201_000]
            else:
                with pytest.raises(NotImplementedError):
                    await running.sendfile(ours.transport, file)
                between = b""
        ours.transport.write(b";after")
        expected = b"before,before;" + between + b";after"
        await peer.has_received(len(expected))
        assert peer.received == expected


async def test_a_file_is_sent_through_tls(tls: Channel, loop: Loop, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(pattern(300_000))
    if not loop.can_send_files:
        return
    async with pair(tls) as (ours, peer):
        ours.transport.write(b"before;")
        with path.open("rb") as file:
            sent = await asyncio.get_running_loop().sendfile(ours.transport, file)
        assert sent == 300_000
        ours.transport.write(b";after")
        await peer.has_received(len("before;;after") + 300_000)
        assert peer.received == b"before;" + pattern(300_000) + b";after"
