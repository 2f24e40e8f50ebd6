"""Accepts clients: they are greeted, authenticated, queued, and served, by default one at a time.

Law: before it is authenticated, a client costs at most one connection of few, for a few seconds,
and one line. Nothing that came before TLS is read as if it had come through TLS.
"""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import socket
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

import tinygram
from tinygram_bench.far.guest import Guest, line_from
from tinygram_bench.far.limits import Limits, end_above
from tinygram_bench.far.programs import RefusedError
from tinygram_bench.host.network.connections import end_when_silent
from tinygram_bench.host.network.settings import permitted_congestion_control
from tinygram_bench.host.probes.environment import environment
from tinygram_bench.host.write_counter import Counting
from tinygram_bench.hosts import wire
from tinygram_bench.hosts.keys import Keys, name_of

_STRANGERS = 16
"""The most unauthenticated connections at a time; more where more clients are served together."""
_STRANGER_S = 10.0
"""How long a connection may last without being authenticated."""
_FAREWELL_S = 2.0
"""How long a client may take to read the last line to it."""
_QUIET_S = 1.0
"""After a rejection was logged, further ones are only counted for this long."""
_PAUSE_S = 0.5
_FOR_NOW = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EPERM)
"""Errors of accept(2) that may pass: other connections end, or a prohibition is lifted."""
_OF_ONE_CLIENT = (
    *(errno.ECONNABORTED, errno.EPROTO, errno.ENETDOWN, errno.ENETUNREACH),
    *(errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENONET, errno.ENOPROTOOPT),
)
"""Errors of accept(2) on Linux that concern a waiting connection, and not the listener."""
_FLEETING = ("load_average_1_5_15_min", "memory_bytes")


class _Protocol(asyncio.StreamReaderProtocol):
    """A protocol that tells that the client has left, even while nothing is read."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__(reader)
        self.left = asyncio.Event()

    def eof_received(self) -> bool:
        self.left.set()
        return bool(super().eof_received())

    def connection_lost(self, error: Exception | None) -> None:
        self.left.set()
        super().connection_lost(error)


class _Client(Struct, frozen=True):
    """An authenticated connection of a client."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    left: asyncio.Event


class Server:
    """Serves clients. `keys` None: only clients on this host are served.

    `token`: what the data connections of all clients begin with; None: each client has its own.
    """

    def __init__(
        self, limits: Limits, keys: Keys | None, counting: Counting, token: bytes | None = None
    ) -> None:
        self._token = token
        self.limits = limits
        self.keys = keys
        self.counting = counting
        self._strangers = 0
        self._waiting = 0
        self._untold = 0
        self._quiet_until_s = 0.0
        self._tls = None if keys is None else keys.context(is_server=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Semaphore(limits.together)

    async def run(self, listener: socket.socket) -> None:
        """Serve until cancelled. Raises OSError where the listener has failed."""
        listener.setblocking(False)
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, address = await loop.sock_accept(listener)
            except OSError as error:
                if error.errno not in (*_OF_ONE_CLIENT, *_FOR_NOW):
                    raise
                await asyncio.sleep(_PAUSE_S if error.errno in _FOR_NOW else 0)
                continue
            if self._strangers >= max(_STRANGERS, self.limits.together):
                sock.close()
                continue
            self._strangers += 1
            self._later(self._accepted(sock, wire.address_of(address[0])))

    def _tell_turned_away(self, client: str, reason: str) -> None:
        """Log this at most once a second, so that repeated connections do not fill the log."""
        now_s = asyncio.get_running_loop().time()
        if now_s < self._quiet_until_s:
            self._untold += 1
            return
        more = f" (and {self._untold} connections before it)" if self._untold else ""
        _tell(f"turned {client} away: {reason}{more}")
        self._untold = 0
        self._quiet_until_s = now_s + _QUIET_S

    def _later(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accepted(self, sock: socket.socket, client: str) -> None:
        try:
            try:
                async with asyncio.timeout(_STRANGER_S):
                    known = await self._authenticated(sock)
            except BaseException:
                sock.close()
                raise
            finally:
                self._strangers -= 1
        except (RefusedError, OSError, EOFError) as error:
            self._tell_turned_away(client, str(error) or type(error).__name__)
            return
        try:
            own_host = wire.address_of(sock.getsockname()[0])
            token = self._token or secrets.token_bytes(wire.TOKEN_BYTES)
            ends = known.reader, known.writer
            guest = Guest(*ends, own_host, client, self.limits, self.counting, token)
            await self._in_turn(guest, known.left)
        except RefusedError as refusal:
            _tell(f"refused {client}: {refusal}")
            known.writer.write(wire.line_of(wire.Refused(str(refusal))))
        except (OSError, EOFError) as error:
            _tell(f"lost {client}: {str(error) or type(error).__name__}")
        finally:
            await _end(known.writer)

    async def _authenticated(self, sock: socket.socket) -> _Client:
        """Greet, begin TLS where the peer may be another machine, and read the `Hello`.

        Raises RefusedError, OSError and EOFError; the connection is then ended.
        """
        end_when_silent(sock)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        name = None if self.keys is None else name_of(self.keys.own_certificate)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(sock, wire.greeting(name))
        tls = None
        # With route_localnet, packets of other hosts reach loopback addresses. Only a program of
        # this host can connect from one: what is sent to it never leaves the host.
        if not all(wire.is_loopback(end[0]) for end in (sock.getsockname(), sock.getpeername())):
            if self._tls is None:
                raise EOFError("there is no key, so that this host alone is served")
            tls = self._tls
        reader = asyncio.StreamReader(limit=wire.MAX_ORDER_BYTES)
        protocol = _Protocol(reader)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol,
            sock,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else _STRANGER_S,
        )
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            shown = transport.get_extra_info("ssl_object")
            if tls is not None and not self._knows(shown.getpeercert(binary_form=True)):
                raise EOFError("it showed another certificate")
            self._check(await line_from(reader))
        except RefusedError as refusal:
            writer.write(wire.line_of(wire.Refused(str(refusal))))
            await _end(writer)
            raise
        except BaseException:
            wire.abort(writer)
            raise
        return _Client(reader, writer, protocol.left)

    def _knows(self, certificate: bytes | None) -> bool:
        return self.keys is not None and self.keys.is_other(certificate)

    def _check(self, line: bytes) -> None:
        """Raises RefusedError or EOFError unless `line` is the `Hello` of the same tinygram."""
        if not line:
            raise EOFError("it left before it said anything")
        try:
            hello = wire.hello_of(line)
        except (ValueError, RecursionError) as error:
            raise RefusedError(f"this is no greeting of version {wire.VERSION}: {error}") from error
        theirs, ours = (hello.tinygram, hello.version), (tinygram.__version__, wire.VERSION)
        if theirs != ours:
            raise RefusedError(
                "the far host has tinygram {} and version {} of the control connection, and this "
                "one {} and {}: install the same tinygram on both".format(*ours, *theirs)
            )

    async def _in_turn(self, guest: Guest, left: asyncio.Event) -> None:
        """Wait until it is this client's turn, and serve it. See `Guest.serve`."""
        if self._turn.locked():
            if self._waiting >= self.limits.clients:
                raise RefusedError(
                    f"{self._waiting} clients wait already: try again later, or start the server "
                    "with --max-clients"
                )
            await guest.say(wire.Queued(self._waiting))
        await self._take_turn(left)
        try:
            _tell(f"serving {guest.client_host}")
            await guest.say(wire.Welcome(_facts(), guest.token))
            await end_above(self.limits, guest.serve(), guest.used)
            _tell(f"served {guest.client_host}")
        finally:
            self._turn.release()

    async def _take_turn(self, left: asyncio.Event) -> None:
        """Sleep until it is this client's turn. Raises EOFError where it leaves before that."""
        turn = asyncio.create_task(self._turn.acquire())
        leaving = asyncio.create_task(left.wait())
        self._waiting += 1
        try:
            await asyncio.wait((turn, leaving), return_when=asyncio.FIRST_COMPLETED)
            if left.is_set():
                raise EOFError("it left while it waited")
        except BaseException:
            if not turn.cancel():  # It has its turn already.
                self._turn.release()
            raise
        finally:
            self._waiting -= 1
            leaving.cancel()


async def _end(writer: asyncio.StreamWriter) -> None:
    """Close the connection when the last line has been taken, or after a while."""
    writer.close()
    with suppress(OSError):
        try:
            async with asyncio.timeout(_FAREWELL_S):
                await writer.wait_closed()
        finally:
            wire.abort(writer)


def _facts() -> dict[str, object]:
    """The facts about this host for the client's result."""
    found = environment(permitted_congestion_control(None))
    found = {name: fact for name, fact in found.items() if name not in _FLEETING}
    return msgspec.to_builtins(found | {"user": "root" if os.getuid() == 0 else "ordinary"})  # type: ignore[no-any-return]


def _tell(text: str) -> None:
    with suppress(OSError):  # The reader of stderr has left, which is no reason to stop serving.
        print(f"tinygram: {wire.shown(text)}", file=sys.stderr, flush=True)
