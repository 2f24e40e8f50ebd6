"""A client that is being served: the processes that it has had started, and what passes between.

Law: they end with the client, and with its time; what one of them may use is bounded.
"""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tinygram_bench.far.programs import Here, Program, RefusedError, program
from tinygram_bench.host.placement import placement
from tinygram_bench.host.write_counter import Counting
from tinygram_bench.hosts import wire
from tinygram_bench.model.errors import UsageError
from tinygram_bench.processes.children import Child
from tinygram_bench.processes.workers import RunError

_GRACE_S = 5.0


@dataclass(frozen=True)
class Limits:
    """What one client may use: time in s, processes at a time, and memory of each in bytes.

    `clients`: how many may wait while another is served.
    """

    time_s: float
    processes: int
    memory_bytes: int
    clients: int


@dataclass
class _Process:
    child: Child
    program: Program
    here: Here
    stack: ExitStack
    following: asyncio.Task[None] | None = None


@dataclass
class Guest:
    """The client of a connection; `own_host` and `client_host` are the two ends' addresses."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    own_host: str
    client_host: str
    limits: Limits
    counting: Counting
    _processes: dict[int, _Process] = field(default_factory=dict)

    async def serve(self) -> None:
        """Carry out what it asks until it leaves. Raises RefusedError and OSError."""
        try:
            while line := await line_from(self.reader):
                self._take(wire_order(line))
                for each in self._processes.values():
                    if each.following is not None and each.following.done():
                        each.following.result()
        finally:
            for number in list(self._processes):
                await self._end(number)

    async def say(self, answer: wire.Answer) -> None:
        """Raises OSError when it is lost."""
        self.writer.write(wire.line_of(answer))
        await self.writer.drain()

    def _take(self, order: wire.Order) -> None:
        if isinstance(order, wire.Begin):
            self._begin(order)
            return
        process = self._processes.get(order.number)
        if process is None:
            return  # It has ended before this came, which the client is told.
        match order:
            case wire.Tell(_, raw):
                with suppress(RunError):  # It has ended, which is told when its channel ends.
                    process.child.tell(process.program.order(bytes(raw), process.here))
            case wire.Dismiss():
                process.child.dismiss()
                self._later(self._end_soon(order.number))
            case wire.AskUsed(number):
                self.writer.write(wire.line_of(wire.Used(number, _cpu_ns(process.child))))

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
        stack = ExitStack()
        try:
            fds = [os.memfd_create("left") for _ in range(begin.files)]
            for fd in fds:
                stack.callback(os.close, fd)
            environment = self.counting.environment() if begin.counts_writes else None
            passed = [*fds, self.counting.fd] if begin.counts_writes else fds
            role = begin.program.rpartition(".")[2]
            child = Child(stack, role, chosen.module, cpu, environment, passed)
        except (OSError, RunError) as error:
            stack.close()
            raise RefusedError(f"a process cannot be started: {error}") from error
        memory_bytes = self.limits.memory_bytes
        resource.prlimit(child.worker.pid, resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
        resource.prlimit(child.worker.pid, resource.RLIMIT_FSIZE, (memory_bytes, memory_bytes))
        here = Here(self.own_host, self.client_host, tuple(fds))
        process = _Process(child, chosen, here, stack)
        self._processes[begin.number] = process
        process.following = asyncio.create_task(self._follow(begin.number, process))

    async def _follow(self, number: int, process: _Process) -> None:
        """Bring over what it answers, until it ends."""
        while await _readable(process.child) and process.child.read():
            while (line := process.child.take_line()) is not None:
                for file, fd in enumerate(process.here.files):
                    await self._bring(number, file, fd)
                await self.say(wire.Said(number, msgspec.Raw(line)))
        await asyncio.to_thread(process.child.worker.wait_ended, _GRACE_S)
        await self.say(wire.Ended(number, process.child.worker.failure))
        self._processes.pop(number, None)
        process.stack.close()

    async def _bring(self, number: int, file: int, fd: int) -> None:
        offset = 0
        while part := os.pread(fd, wire.PART_BYTES, offset):
            offset += len(part)
            await self.say(wire.Left(number, file, part))
        os.ftruncate(fd, 0)

    async def _end_soon(self, number: int) -> None:
        """End a process that was dismissed, unless it does so by itself."""
        process = self._processes.get(number)
        if process is not None and not await asyncio.to_thread(
            process.child.worker.wait_ended, _GRACE_S
        ):
            process.child.worker.kill()

    async def _end(self, number: int) -> None:
        process = self._processes.pop(number, None)
        if process is None:
            return
        if process.following is not None:
            process.following.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await process.following
        process.stack.close()

    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def _later(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


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
    except ValueError as error:
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
    """Sleep until there is something to read; True, always."""
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


def addresses_of(writer: asyncio.StreamWriter) -> tuple[str, str]:
    """The two ends of a connection: ours, and the client's."""
    own: Sequence[object] = writer.get_extra_info("sockname")
    other: Sequence[object] = writer.get_extra_info("peername")
    return str(own[0]), str(other[0])
