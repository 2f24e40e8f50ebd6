"""Accepting clients: greeted, authenticated, queued, and served one at a time.

Law: before it is authenticated a client costs one connection of few, for few seconds, and one line
at most.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import sys
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

import tinygram
from tinygram_bench.far.guest import Guest, Limits, addresses_of, line_from
from tinygram_bench.far.programs import RefusedError
from tinygram_bench.host.network import permitted_congestion_control
from tinygram_bench.host.probes.environment import environment
from tinygram_bench.host.write_counter import Counting
from tinygram_bench.hosts import wire
from tinygram_bench.hosts.keys import Keys, name_of

_STRANGERS = 16
"""Connections at a time that have not been authenticated."""
_STRANGER_S = 10.0
"""For so long one may go on without being authenticated."""
_FLEETING = ("load_average_1_5_15_min", "memory_bytes")


@dataclass
class Server:
    """Serves clients, one at a time. `keys` None: clients on this host alone are served."""

    limits: Limits
    keys: Keys | None
    counting: Counting
    _strangers: int = 0
    _waiting: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        if self.keys is not None:
            self._tls = self.keys.context(is_server=True)

    async def run(self, listener: socket.socket) -> None:
        """Serve until cancelled."""
        server = await asyncio.start_server(
            self._accepted, sock=listener, limit=wire.MAX_ORDER_BYTES
        )
        async with server:
            await server.serve_forever()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = "?"
        try:
            if self._strangers >= _STRANGERS:
                return
            wire.end_when_silent(writer.get_extra_info("socket"))
            own_host, client = addresses_of(writer)
            self._strangers += 1
            try:
                async with asyncio.timeout(_STRANGER_S):
                    await self._authenticated(reader, writer, own_host)
            finally:
                self._strangers -= 1
            await self._in_turn(Guest(reader, writer, own_host, client, self.limits, self.counting))
        except RefusedError as refusal:
            _tell(f"refused {client}: {refusal}")
            with suppress(OSError):
                writer.write(wire.line_of(wire.Refused(str(refusal))))
                await writer.drain()
        except (OSError, TimeoutError, EOFError) as error:
            _tell(f"lost {client}: {error or type(error).__name__}")
        finally:
            writer.close()

    async def _authenticated(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, own_host: str
    ) -> None:
        """Greet, begin TLS where another machine may be there, and hear the `Hello`.

        Raises RefusedError, OSError and EOFError.
        """
        writer.write(
            wire.greeting(None if self.keys is None else name_of(self.keys.own_certificate))
        )
        await writer.drain()
        if not wire.is_loopback(own_host):
            if self._tls is None or self.keys is None:
                raise EOFError("there is no key, so that this host alone is served")
            await writer.start_tls(self._tls, ssl_handshake_timeout=_STRANGER_S)
            tls = writer.get_extra_info("ssl_object")
            if not self.keys.is_other(tls.getpeercert(binary_form=True)):
                raise EOFError("it showed another certificate")
        line = await line_from(reader)
        if not line:
            raise EOFError("it left before it said anything")
        try:
            hello = wire.hello_of(line)
        except ValueError as error:
            raise RefusedError(f"this is no greeting of version {wire.VERSION}: {error}") from error
        if (hello.version, hello.tinygram) != (wire.VERSION, tinygram.__version__):
            raise RefusedError(
                f"the far host has tinygram {tinygram.__version__}, and this one "
                f"{hello.tinygram}: install the same version on both"
            )

    async def _in_turn(self, guest: Guest) -> None:
        """Wait until no other client is served, and serve this one. See `Guest.serve`."""
        if self._waiting >= self.limits.clients:
            raise RefusedError(
                f"{self._waiting} clients wait already: try again later, or start the server with "
                "--max-clients"
            )
        if self._turn.locked():
            await guest.say(wire.Queued(self._waiting))
        self._waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= 1
        try:
            _tell(f"serving {guest.client_host}")
            await guest.say(wire.Welcome(_facts()))
            await self._served(guest)
            _tell(f"served {guest.client_host}")
        finally:
            self._turn.release()

    async def _served(self, guest: Guest) -> None:
        try:
            async with asyncio.timeout(self.limits.time_s):
                await guest.serve()
        except TimeoutError as error:
            raise RefusedError(
                f"a client may be served for {self.limits.time_s:g} s: measure less at a time, or "
                "start the server with --max-time"
            ) from error


def _facts() -> dict[str, object]:
    """What the client's result says of this host."""
    found = environment(permitted_congestion_control(None))
    found = {name: fact for name, fact in found.items() if name not in _FLEETING}
    return msgspec.to_builtins(found | {"user": "root" if os.getuid() == 0 else "ordinary"})  # type: ignore[no-any-return]


def _tell(text: str) -> None:
    print(f"tinygram: {text}", file=sys.stderr, flush=True)
