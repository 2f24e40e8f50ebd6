"""A client that is being served: its processes here, and what passes between it and them.

Law: these processes end with the client, and with its time; what they may use is bounded, each by
itself and all together.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from contextlib import ExitStack, suppress
from typing import Any

import msgspec
from msgspec import Struct

from tinygram_bench.far.limits import Limits, connections_within, hold
from tinygram_bench.far.programs import Here, Program, RefusedError, program
from tinygram_bench.far.usage import InUse, used_by
from tinygram_bench.host.network.connections import Known
from tinygram_bench.host.placement import placement
from tinygram_bench.host.write_counter import Counting
from tinygram_bench.hosts import wire
from tinygram_bench.model.errors import UsageError
from tinygram_bench.processes.children import Child
from tinygram_bench.processes.workers import RunError

_GRACE_S = 5.0


class _Process(Struct):
    child: Child
    program: Program
    here: Here
    stack: ExitStack
    ended: asyncio.Event
    following: asyncio.Task[None] | None = None
    is_dismissed: bool = False


class Guest:
    """The client of a connection; `own_host` and `client_host` are the two ends' addresses.

    `token`: what its data connections begin with.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        own_host: str,
        client_host: str,
        limits: Limits,
        counting: Counting,
        token: bytes,
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.own_host = own_host
        self.client_host = client_host
        self.limits = limits
        self.counting = counting
        self.token = token
        self._processes: dict[int, _Process] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: OSError | None = None

    async def serve(self) -> None:
        """Carry out the client's orders until it leaves. Raises RefusedError and OSError."""
        try:
            while line := await line_from(self.reader):
                await self._take(wire_order(line))
            if self._failure is not None:
                raise self._failure
        finally:
            await self._end_all()

    async def say(self, answer: wire.Answer) -> None:
        """Send the client an answer. Raises OSError when the connection is lost."""
        self.writer.write(wire.line_of(answer))
        await self.writer.drain()

    def used(self) -> InUse:
        """What its processes use together; what they have left in memory counts, too."""
        processes = self._processes.values()
        # The pid of a process that has ended may be another one's soon.
        living = (each.child.worker.pid for each in processes if not each.ended.is_set())
        memory_bytes, connections = used_by(living)
        for process in processes:
            memory_bytes += process.child.worker.output_bytes
            memory_bytes += sum(os.fstat(fd).st_size for fd in process.here.files)
        return InUse(memory_bytes, connections)

    async def _take(self, order: wire.Order) -> None:
        """Carry out an order. A client that does not read is not heard until it does."""
        if isinstance(order, wire.Begin):
            self._begin(order)
            return
        process = self._processes.get(order.number)
        match order:
            case wire.AskUsed(number):
                used = None if process is None else _cpu_ns(process.child)
                await self.say(wire.Used(number, used))
            case _ if process is None:
                return  # The process had ended before this came, which the client is told.
            case wire.Tell(_, raw):
                told = process.program.order(bytes(raw), process.here)
                # A process that takes nothing stops its client, and not the server.
                try:
                    await asyncio.to_thread(process.child.tell, told)
                except RunError as error:
                    # If the process has ended, that is told when its channel ends.
                    if not process.ended.is_set():
                        raise RefusedError(str(error)) from error
            case wire.Dismiss() if not process.is_dismissed:
                process.is_dismissed = True
                process.child.dismiss()
                self._later(_end_soon(process))

    def _begin(self, begin: wire.Begin) -> None:
        if len(self._processes) >= self.limits.processes:
            raise RefusedError(
                f"this server runs {self.limits.processes} processes for a client at most: measure "
                "fewer cases at a time, with --lone for example, or start it with --max-processes"
            )
        if begin.number in self._processes:
            raise RefusedError(f"process {begin.number} runs already")
        chosen = program(begin.program)
        cpu = _core(begin.placement)
        with ExitStack() as stack:
            try:
                process = self._started(stack, begin, chosen, cpu)
            except (OSError, RunError) as error:
                raise RefusedError(f"a process cannot be started: {error}") from error
            process.stack = stack.pop_all()
        self._processes[begin.number] = process
        process.following = asyncio.create_task(self._follow(begin.number, process))

    def _started(
        self, stack: ExitStack, begin: wire.Begin, chosen: Program, cpu: int | None
    ) -> _Process:
        """Raises OSError and RunError."""
        fds = []
        for _ in range(begin.files):
            fds.append(os.memfd_create("left"))
            stack.callback(os.close, fds[-1])
        environment = self.counting.environment() if begin.counts_writes else None
        passed = [*fds, self.counting.fd] if begin.counts_writes else fds
        role = begin.program.rpartition(".")[2]
        child = Child(stack, role, chosen.module, cpu, environment, passed)
        hold(child.worker.pid, self.limits)
        ended = asyncio.Event()
        loop, fd = asyncio.get_running_loop(), child.worker.fileno()

        def tell_end() -> None:
            loop.remove_reader(fd)
            ended.set()

        loop.add_reader(fd, tell_end)
        stack.callback(loop.remove_reader, fd)
        here = Here(
            self.own_host,
            Known(self.client_host, self.token),
            tuple(fds),
            max_connections=connections_within(self.limits.connections),
        )
        return _Process(child, chosen, here, stack, ended)

    async def _follow(self, number: int, process: _Process) -> None:
        """Bring over what a process answers, until it ends."""
        try:
            while await _readable(process.child) and process.child.read():
                while (line := process.child.take_line()) is not None:
                    for file, fd in enumerate(process.here.files):
                        await self._bring(number, file, fd)
                    await self.say(wire.Said(number, msgspec.Raw(line)))
            await _end_soon(process)
            await self.say(wire.Ended(number, process.child.worker.failure))
        except (OSError, RunError) as error:
            self._failure = error if isinstance(error, OSError) else OSError(str(error))
            wire.abort(self.writer)  # `serve` sees the end, and ends the rest.
            return
        self._processes.pop(number, None)
        process.stack.close()

    async def _bring(self, number: int, file: int, fd: int) -> None:
        offset = 0
        while part := os.pread(fd, wire.PART_BYTES, offset):
            offset += len(part)
            await self.say(wire.Left(number, file, part))
        os.ftruncate(fd, 0)

    async def _end_all(self) -> None:
        tasks = [*self._tasks, *(each.following for each in self._processes.values())]
        running = [task for task in tasks if task is not None]
        for task in running:
            task.cancel()
        try:
            if running:
                await asyncio.wait(running)
        finally:
            for process in self._processes.values():
                with suppress(RunError):  # This process cannot be ended, but the others must be.
                    process.stack.close()
            self._processes.clear()

    def _later(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _end_soon(process: _Process) -> None:
    """Wait until a process that is to end does so by itself, or after some seconds kill it."""
    try:
        async with asyncio.timeout(_GRACE_S):
            await process.ended.wait()
    except TimeoutError:
        with suppress(RunError):  # Closing its stack raises the same.
            await asyncio.to_thread(process.child.worker.kill)


async def line_from(reader: asyncio.StreamReader) -> bytes:
    """The next line, empty when the client has left. Raises RefusedError where it is too long."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise RefusedError("the connection ended within a line") from error
        return b""
    except asyncio.LimitOverrunError as error:
        raise RefusedError(f"a line is longer than {wire.MAX_ORDER_BYTES} bytes") from error


def wire_order(line: bytes) -> wire.Order:
    """Raises RefusedError."""
    try:
        order: wire.Order = wire.order_of(line)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"this is no order of version {wire.VERSION}: {error}") from error
    return order


def _core(name: str) -> int | None:
    try:
        return placement(name).receiver_cpu
    except UsageError as error:
        raise RefusedError(f"on the far host, {error}") from error


def _cpu_ns(child: Child) -> int | None:
    try:
        return child.cpu_ns()
    except OSError:
        return None


async def _readable(child: Child) -> bool:
    """Sleep until there is something to read; always returns True."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(child.fileno(), wake)
    try:
        await ready
    finally:
        loop.remove_reader(child.fileno())
    return True
