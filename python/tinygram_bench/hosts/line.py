"""The client's end of the control connection: a thread that sleeps until something is said.

The answers of a process on the far host are handed on through a channel like that of a local
process, so that answers of both hosts are awaited in the same way.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from tinygram_bench.host.network.connections import end_when_silent
from tinygram_bench.hosts import wire
from tinygram_bench.hosts.address import CONNECT_LIMIT_S, REMEDY, FarAddress, connected
from tinygram_bench.hosts.keys import Keys, client_keys, keep_answering
from tinygram_bench.model.errors import UsageError
from tinygram_bench.processes.workers import RunError

T = TypeVar("T")
_ANSWER_LIMIT_S = 5.0
_FIRST_LIMIT_S = 10.0
"""How long a server may gather facts about its host before its first answer."""
_MAX_UNHEARD_BYTES = 1 << 26
"""A server whose unread answers exceed this is not ours."""
_MAX_LEFT_BYTES = 1 << 34
"""The most that a process may leave in its files: the notes of a billion reads."""


class FarProcess:
    """A process of the far host, as the bench sees it: how it ended, and where it writes."""

    def __init__(self, role: str, files: Sequence[int]) -> None:
        """`files`: descriptors for what is brought over, duplicated here and closed at its end."""
        self.role = role
        self.failure: str | None = None
        self.is_cut_off = False
        self.files = tuple(map(os.dup, files))
        self.used: asyncio.Future[int | None] | None = None
        """The process's CPU time in ns, while that is asked for."""
        self.left_bytes = 0
        self._ended = threading.Event()

    def tell_used(self, cpu_ns: int | None) -> None:
        """Answer the question for the process's CPU time; None: it has ended."""
        if self.used is not None and not self.used.done():
            self.used.set_result(cpu_ns)

    def end(self, failure: str | None) -> None:
        """Note that the process has ended, and why; nothing more is brought over."""
        self.tell_used(None)
        if not self._ended.is_set():
            for file in self.files:
                os.close(file)
            self.failure = failure
            self._ended.set()

    def wait_ended(self, seconds: float) -> bool:
        """Sleep until the process has ended; False where `seconds` passed before that."""
        return self._ended.wait(max(0.0, seconds))


class Line:
    """An established control connection; `welcome` is the server's first answer."""

    def __init__(
        self,
        address: FarAddress,
        version: str,
        tell_queued: Callable[[int], None],
        keys: Keys | None = None,
    ) -> None:
        """Connect; `tell_queued` is called while other clients are served. Raises UsageError.

        `keys` None: those that were pasted on this host for the server that greets are used.
        """
        self._address = address
        self._keys = keys
        self._processes: dict[int, tuple[FarProcess, asyncio.StreamWriter]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._next = 0
        self.far_address = address.host
        """The address of the far host, whatever it was named."""
        self.failure: str | None = None
        """Why the connection was lost; None while it stands."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="far", daemon=True)
        self._thread.start()
        try:
            self.welcome = self._run(self._open(version, tell_queued))
        except BaseException:
            self._stop()
            raise

    def close(self) -> None:
        """End the connection, and with it every process that was started over it."""
        self._run(self._end())
        self._stop()

    def begin(
        self, role: str, program: str, placement: str, *, counts_writes: bool, files: Sequence[int]
    ) -> tuple[FarProcess, socket.socket, int]:
        """Start a process; return its state, channel and number. Raises RunError."""
        process = FarProcess(role, files)

        def beginning(number: int, theirs: socket.socket) -> Coroutine[Any, Any, None]:
            begin = wire.Begin(number, program, placement, counts_writes, len(files))
            return self._begin(begin, process, theirs)

        ours, number = self._channel(beginning)
        return process, ours, number

    def standing(self, role: str) -> tuple[FarProcess, socket.socket]:
        """Like `begin`, but nothing is started there.

        What is returned ends when the host is lost or its channel is closed. Raises RunError.
        """
        process = FarProcess(role, ())
        ours, _ = self._channel(lambda number, theirs: self._stand(number, process, theirs))
        return process, ours

    def used_ns(self, number: int) -> int:
        """The CPU time of a process so far, in ns. Raises RunError."""
        return self._run(self._ask_used(number))

    def _channel(
        self, opening: Callable[[int, socket.socket], Coroutine[Any, Any, None]]
    ) -> tuple[socket.socket, int]:
        """Our end of a new channel, and its number. `opening` gets the number and the other end.

        Raises RunError where `opening` does.
        """
        ours, theirs = socket.socketpair()
        number = self._next
        self._next = (self._next + 1) % (1 << 16)
        try:
            self._run(opening(number, theirs))
        except RunError:
            ours.close()
            raise
        return ours, number

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self, version: str, tell_queued: Callable[[int], None]) -> wire.Welcome:
        named = f"--server {self._address.text}"
        sock, key_name = await asyncio.to_thread(connected, self._address)
        end_when_silent(sock)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        keys = None
        self.far_address = wire.address_of(sock.getpeername()[0])
        if not wire.is_loopback(self.far_address):
            keys = self._keys
            if keys is None and key_name is not None:
                keys = client_keys(key_name)
            if keys is None:
                sock.close()
                raise UsageError(
                    f"{named}: this host has no key for that server: run `tinygram serve --new-key`"
                    " there, paste the line that it prints here, and start the server anew"
                )
        try:
            await self._talk(sock, keys)
            if keys is not None and self._keys is None and key_name is not None:
                self._keep_answering(key_name)
            await self._say(wire.Hello(wire.VERSION, version))
            async with asyncio.timeout(_FIRST_LIMIT_S):
                answer = await self._heard()
            while isinstance(answer, wire.Queued):
                tell_queued(answer.before)
                answer = await self._heard()
        except (OSError, EOFError, ValueError, RunError) as error:
            sock.close()
            raise UsageError(
                f"{named} ended the connection before it answered: it may not know this host's "
                "key (paste the line of `tinygram serve --new-key` again, and start the server "
                f"anew), or have ended ({_described(error)})"
            ) from error
        if not isinstance(answer, wire.Welcome):
            wire.abort(self._writer)
            reason = answer.reason if isinstance(answer, wire.Refused) else "it was asked nothing"
            raise UsageError(f"{named}: {wire.shown(reason)}")
        self._start(self._listen())
        return answer

    async def _talk(self, sock: socket.socket, keys: Keys | None) -> None:
        """Begin TLS with the first byte after the greeting: none is read that is not encrypted.

        Raises OSError, also where the server shows another certificate.
        """
        self._reader, self._writer = await asyncio.open_connection(
            sock=sock,
            limit=wire.MAX_ANSWER_BYTES,
            ssl=None if keys is None else keys.context(is_server=False),
            server_hostname=None if keys is None else "",
            ssl_handshake_timeout=None if keys is None else CONNECT_LIMIT_S,
        )
        if keys is not None:
            tls = self._writer.get_extra_info("ssl_object")
            if not keys.is_other(tls.getpeercert(binary_form=True)):
                raise OSError("it showed another certificate")

    def _keep_answering(self, key_name: str) -> None:
        """Raises UsageError where another key answered at this address before."""
        try:
            keep_answering(self._address.named, key_name)
        except UsageError as error:
            wire.abort(self._writer)
            raise UsageError(f"--server {self._address.text}: {error}") from error

    async def _ask_used(self, number: int) -> int:
        process, _ = self._processes.get(number, (None, None))
        if process is None:
            raise RunError(self.failure or "the process on the far host has ended")
        process.used = self._loop.create_future()
        await self._say(wire.AskUsed(number))
        try:
            async with asyncio.timeout(_ANSWER_LIMIT_S):
                used = await process.used
        except TimeoutError as error:
            raise RunError(
                f"{self.far_address} did not answer in {_ANSWER_LIMIT_S:g} s{REMEDY}"
            ) from error
        if used is None:
            raise RunError(process.failure or f"the {process.role} on the far host has ended")
        return used

    async def _begin(self, begin: wire.Begin, process: FarProcess, theirs: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=theirs, limit=wire.MAX_ORDER_BYTES)
        self._processes[begin.number] = (process, writer)
        try:
            await self._say(begin)
        except RunError as error:
            del self._processes[begin.number]
            process.end(str(error))
            writer.close()
            raise
        self._start(self._forward(begin.number, reader))

    async def _stand(self, number: int, process: FarProcess, theirs: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=theirs)
        if self.failure is not None:
            process.end(self.failure)
            writer.close()
            raise RunError(self.failure)
        self._processes[number] = (process, writer)

        async def until_told_no_more() -> None:
            with suppress(OSError):
                while await reader.read(1 << 10):
                    pass
            process.end(None)
            self._processes.pop(number, None)
            writer.close()

        self._start(until_told_no_more())

    async def _forward(self, number: int, reader: asyncio.StreamReader) -> None:
        """Forward the bench's orders to a process, until there are no more."""
        with suppress(RunError, OSError):
            with suppress(ValueError):  # An order that is too long: the process gets no more.
                while line := await reader.readline():
                    await self._say(wire.Tell(number, msgspec.Raw(line.rstrip(b"\n"))))
            await self._say(wire.Dismiss(number))

    async def _listen(self) -> None:
        try:
            while True:
                self._take(await self._heard())
        except (OSError, EOFError, ValueError) as error:
            self._lose(
                f"--server {self._address.text}: the connection to {self.far_address} was lost: "
                f"{_described(error)}{REMEDY}"
            )

    def _take(self, answer: wire.Answer) -> None:
        if isinstance(answer, wire.Refused):
            self._lose(
                f"--server {self._address.text} refused what was asked: {wire.shown(answer.reason)}"
            )
            return
        if isinstance(answer, wire.Welcome | wire.Queued):
            raise ValueError("it welcomed this host twice")
        process, writer = self._processes.get(answer.number, (None, None))
        if process is None or writer is None:
            return  # The process had ended here before its last answer came.
        match answer:
            case wire.Said(_, line):
                if writer.transport.get_write_buffer_size() > _MAX_UNHEARD_BYTES:
                    raise ValueError("it says more than it was asked")
                writer.write(bytes(line) + b"\n")
            case wire.Left(_, file, part):
                process.left_bytes += len(part)
                if file >= len(process.files) or process.left_bytes > _MAX_LEFT_BYTES:
                    raise ValueError("it brings files over that it was not asked for")
                os.write(process.files[file], part)
            case wire.Used(_, cpu_ns):
                process.tell_used(cpu_ns)
            case wire.Ended(number, failure):
                shown = None if failure is None else f"on the far host, {wire.shown(failure)}"
                process.end(shown)
                del self._processes[number]
                writer.close()

    def _lose(self, failure: str) -> None:
        self.failure = self.failure or failure
        for process, writer in self._processes.values():
            process.is_cut_off = True
            process.end(failure)
            writer.close()
        self._processes.clear()
        wire.abort(self._writer)

    async def _say(self, message: wire.Hello | wire.Order) -> None:
        """Raises RunError where the connection was lost."""
        if self.failure is not None:
            raise RunError(self.failure)
        self._writer.write(wire.line_of(message))
        with suppress(OSError):  # `_listen` reports it.
            await self._writer.drain()

    async def _heard(self) -> wire.Answer:
        """The next answer. Raises OSError, EOFError and ValueError."""
        try:
            answer: wire.Answer = wire.answer_of(await self._reader.readuntil(b"\n"))
        except asyncio.IncompleteReadError as error:
            raise EOFError("it has ended the connection") from error
        except asyncio.LimitOverrunError as error:
            raise ValueError("it sent a line that is too long") from error
        except RecursionError as error:
            raise ValueError("it sent a line that is nested too deeply") from error
        return answer

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._lose("the measurement has ended")


def _described(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):  # Its errno is OpenSSL's number, not the kernel's.
        return error.reason or str(error)
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    if isinstance(error, TimeoutError):
        return "it said nothing in time"
    return str(error) or type(error).__name__
