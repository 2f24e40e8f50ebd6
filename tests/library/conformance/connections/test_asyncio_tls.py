"""TLS: from the first byte, or from the middle of a plain connection on."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.library.conformance.channels import Channel, Contexts, pair, pattern, turns
from tests.library.conformance.loops import open_descriptors
from tests.library.conformance.recorder import BufferedRecorder, Calls, Recorder
from tests.library.conformance.streams import End, stream_pair
from tests.library.wires import LONGEST_S


async def upgrade(end: Calls, channel: Channel, *, is_server: bool) -> None:
    """Put TLS between the protocol and its connection, as the protocol's transport."""
    loop = asyncio.get_running_loop()
    context = channel.contexts.server if is_server else channel.contexts.client
    transport = await loop.start_tls(
        end.transport,
        end,
        context,
        server_side=is_server,
        server_hostname=None if is_server else "localhost",
    )
    assert transport is not None
    end.adopt(transport)


@asynccontextmanager
async def upgraded(channel: Channel) -> AsyncIterator[tuple[Recorder, Recorder]]:
    """Two ends that have greeted in plain, and speak TLS from then on."""
    async with pair(channel) as (ours, peer):
        ours.transport.write(b"let us ")
        await peer.has_received(len("let us "))
        peer.transport.write(b"encrypt")
        await ours.has_received(len("encrypt"))
        await asyncio.gather(
            upgrade(ours, channel, is_server=channel.is_accepted),
            upgrade(peer, channel, is_server=not channel.is_accepted),
        )
        yield ours, peer


async def test_what_tls_tells_of_itself(tls: Channel) -> None:
    async with pair(tls) as (ours, _):
        context = tls.contexts.server if tls.is_accepted else tls.contexts.client
        tell = ours.transport.get_extra_info
        assert tell("sslcontext") is context
        assert isinstance(tell("ssl_object"), ssl.SSLObject)
        assert tell("cipher") == tell("ssl_object").cipher()
        assert tell("peername") == tell("socket").getpeername()
        assert tell("sockname") == tell("socket").getsockname()
        if not tls.is_accepted:
            assert (("commonName", "localhost"),) in tell("peercert")["subject"]


async def test_plain_connections_have_no_tls_to_tell_of(plain: Channel) -> None:
    async with pair(plain) as (ours, _):
        for name in ("sslcontext", "ssl_object", "cipher", "peercert"):
            assert ours.transport.get_extra_info(name) is None


async def test_tls_over_a_unix_socket(contexts: Contexts, tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    path = str(tmp_path / "s")
    client, accepted = Recorder(), Recorder()
    server = await loop.create_unix_server(lambda: accepted, path, ssl=contexts.server)
    transport, _ = await loop.create_unix_connection(
        lambda: client, path, ssl=contexts.client, server_hostname="localhost"
    )
    transport.write(b"secret")
    await accepted.has_received(len("secret"))
    assert accepted.received == b"secret"
    assert transport.get_extra_info("ssl_object") is not None
    transport.close()
    await client.called("connection_lost")
    await accepted.called("connection_lost")
    server.close()
    await server.wait_closed()


async def test_a_server_that_is_not_trusted_is_an_error_of_the_client(tls: Channel) -> None:
    before = open_sockets()
    accepted = Recorder()
    server = await tls.serve(lambda: accepted)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.get_running_loop().create_connection(
            Recorder,
            "127.0.0.1",
            port,
            ssl=ssl.create_default_context(),
            server_hostname="localhost",
        )
    server.close()
    await server.wait_closed()
    # The server learns of it when the kernel brings it what the client has said of it.
    async with asyncio.timeout(LONGEST_S):
        while open_sockets() - before:
            await asyncio.sleep(0)
    await turns(20)
    assert accepted.calls == []


def open_sockets() -> set[str]:
    """The sockets of this process."""
    return {link for link in open_descriptors().values() if link.startswith("socket:")}


async def test_bytes_flow_both_ways_after_start_tls(channel: Channel) -> None:
    """Over TLS too: a proxy may be spoken to in TLS, and through it TLS to another."""
    async with upgraded(channel) as (ours, peer):
        assert ours.transport.get_extra_info("ssl_object") is not None
        ours.transport.write(b"small ")
        ours.transport.write(pattern(300_000))
        peer.transport.write(pattern(400_000))
        await peer.has_received(len("let us small ") + 300_000)
        await ours.has_received(len("encrypt") + 400_000)
        assert peer.received == b"let us small " + pattern(300_000)
        assert ours.received == b"encrypt" + pattern(400_000)


async def test_start_tls_makes_no_second_connection(plain: Channel) -> None:
    async with upgraded(plain) as (ours, peer):
        assert ours.transport.get_protocol() is ours
        ours.transport.write(b"last")
        ours.transport.close()
        await ours.called("connection_lost")
        await peer.called("connection_lost")
        await turns()
        assert peer.received == b"let us last"
        assert ours.calls.count("connection_made") == 1
        assert ours.calls.count("connection_lost") == 1
        assert (ours.lost_with, peer.lost_with) == (None, None)


async def test_what_was_written_before_start_tls_leaves_before_it_and_in_plain(
    plain: Channel,
) -> None:
    """The peer reads one byte at a time, so that it can stop exactly where TLS begins."""
    ours, peer = Recorder(), BufferedRecorder(buffer_bytes=1)

    def stop_at_the_newline() -> None:
        if peer.received.endswith(b"\n"):
            peer.transport.pause_reading()

    peer.reactions["data"] = stop_at_the_newline
    async with plain.joined(ours, peer):
        ours.transport.write(b"start")
        ours.transport.write(b" tls\n")
        upgrading = asyncio.create_task(upgrade(ours, plain, is_server=plain.is_accepted))
        await peer.has_received(len("start tls\n"))
        await turns(20)
        assert peer.received == b"start tls\n"
        await upgrade(peer, plain, is_server=not plain.is_accepted)
        await upgrading
        ours.transport.write(b"secret")
        await peer.has_received(len("start tls\nsecret"))
        assert peer.received == b"start tls\nsecret"


async def test_start_tls_with_a_peer_that_speaks_none_fails_and_closes(plain: Channel) -> None:
    async with pair(plain) as (ours, peer):
        peer.transport.write(b"this is not TLS at all, it is a sentence\n")
        await ours.has_received(1)
        upgrading = asyncio.create_task(upgrade(ours, plain, is_server=plain.is_accepted))
        await turns()
        peer.transport.write(b"nor is this, it is another sentence\n")
        with pytest.raises(ssl.SSLError):
            await upgrading
        await peer.called("connection_lost")
        # Whose protocol was never TLS's: the loops disagree on whether it is told.
        if "connection_lost" not in ours.calls:
            ours.connection_lost(None)


async def test_streams_are_upgraded(plain: Channel) -> None:
    async with stream_pair(plain) as (ours, peer):
        ours.writer.write(b"start tls\n")
        assert await peer.reader.readline() == b"start tls\n"
        await upgrade_streams(plain, ours, peer)
        assert ours.writer.get_extra_info("ssl_object") is not None
        for number in range(100):
            ours.writer.write(b"%d\n" % number)
            assert await peer.reader.readline() == b"%d\n" % number
            peer.writer.write(b"%d!\n" % number)
            assert await ours.reader.readline() == b"%d!\n" % number


async def test_upgraded_streams_carry_more_than_their_readers_hold(plain: Channel) -> None:
    """In Python 3.11 the reader goes on to pause the plain transport, which must bear it."""
    async with stream_pair(plain) as (ours, peer):
        await upgrade_streams(plain, ours, peer)

        async def send() -> None:
            for _ in range(20):
                ours.writer.write(pattern(50_000))
                await ours.writer.drain()

        sending = asyncio.create_task(send())
        received = bytearray()
        while len(received) < 1_000_000:
            received += await peer.reader.read(10_000)
        assert received == pattern(50_000) * 20
        await sending


async def upgrade_streams(channel: Channel, ours: End, peer: End) -> None:
    client, accepted = (peer, ours) if channel.is_accepted else (ours, peer)
    await asyncio.gather(
        client.writer.start_tls(channel.contexts.client, server_hostname="localhost"),
        accepted.writer.start_tls(channel.contexts.server),
    )
