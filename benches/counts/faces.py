"""The program whose instructions are counted: every face of the library sends 100-byte messages.

It runs under callgrind, with `preloaded.c` preloaded, and prints a JSON object: face → messages,
writes and wake-ups. What is counted begins when buffers have grown and the interpreter has
specialized its instructions. What a face writes into is read between the rounds, by nobody else:
the kernel has room for a round.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from library.sides.connection import Connection, joining, write_each

import tinygram

MESSAGE = bytes(100)
BURST = [MESSAGE] * 64
BURSTS = [BURST] * 30
ROUNDS = 5
LONG = tinygram.coalesce(3.6e9)
ROOMY: dict[str, Any] = {"strategy": LONG, "max_bytes": 1 << 24, "max_buffered_bytes": 1 << 25}
"""Nothing leaves until it is asked to."""
GROWN_BYTES = (64 << 10) - 1
"""The bytes that are held before they are a full batch."""
_DENSE_NS = 300
_ITERATION_NS = 3_000
_APART_NS = 10_000
"""How far the clock goes on at each reading: messages that are dense, iterations, messages that are
bursts of their own."""
_WAITS = {"232", "281"}
"""The system calls epoll_wait and epoll_pwait, of x86-64."""


class Counting:
    """What `preloaded.c` offers; nothing is counted in the first two rounds.

    A `CoalescingSocket` has two buffers, which take turns: both have grown then.
    """

    def __init__(self, preloaded: str) -> None:
        self._library = ctypes.CDLL(preloaded)
        self._library.counts_clock_step.argtypes = [ctypes.c_long]
        self.told: dict[str, dict[str, int]] = {}
        self._messages = 0

    @contextmanager
    def face(self, name: str, step_ns: int) -> Iterator[None]:
        """Count what is in the block's rounds, under this name."""
        gc.collect()
        self._library.counts_clock_step(step_ns)
        self._library.counts_zero()
        self._messages = 0
        yield
        self._library.counts_dump(name.encode())
        self.told[name] = {
            "messages": self._messages,
            "writes": self._library.counts_writes(),
            "wakes": self._library.counts_wakes(),
        }

    def rounds(self, messages: int) -> Iterator[int]:
        """The rounds, of so many messages; each must call `pause` when it has sent them."""
        for index in range(2 + ROUNDS):
            if index > 1:
                self._messages += messages
                self._library.counts_begin()
            yield index
            self._library.counts_end()

    def pause(self) -> None:
        """What comes until the round's end is settling: only its writes and wake-ups count."""
        self._library.counts_pause()


counting: Counting


def pair() -> tuple[socket.socket, socket.socket]:
    """Two ends between which a round has room."""
    ours, peer = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    assert ours.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) >= 400_000
    return ours, peer


def drain(peer: socket.socket, count: int) -> None:
    """Read what a round has sent."""
    while count:
        count -= len(peer.recv(count))


def send_each(send: Any, bursts: list[list[bytes]]) -> None:
    """Send as a program does: `send` is the object, whose method is looked up for each message."""
    for burst in bursts:
        for message in burst:
            send.send(message)


def send_lists(out: Any, bursts: list[list[bytes]]) -> None:
    for burst in bursts:
        out.send_many(burst)


def batch(send: Callable[[Any, list[list[bytes]]], None], **knobs: Any) -> None:
    ours, peer = pair()
    with ours, peer:
        out = tinygram.batch(ours, **knobs)
        count = len(BURSTS) * len(BURST)
        for _ in counting.rounds(count):
            send(out, BURSTS)
            counting.pause()
            out.flush()
            drain(peer, count * len(MESSAGE))


def threads(send: Callable[[Any, list[list[bytes]]], None]) -> None:
    """Hold messages while the writing thread waits for the end of their hold."""
    ours, peer = pair()
    with ours, peer:
        sock = tinygram.CoalescingSocket(ours, **ROOMY)
        count = len(BURSTS) * len(BURST)
        sock.send(MESSAGE)
        wait_until_writer_sleeps()
        for _ in counting.rounds(count):
            send(sock, BURSTS)
            counting.pause()
            sock.flush()
            drain(peer, (count + 1) * len(MESSAGE))
            wait_until_writer_sleeps()
            sock.send(MESSAGE)
            wait_until_writer_sleeps()
        sock.abort()


def threads_one_by_one() -> None:
    """From an idle state each message is written by who sends it."""
    ours, peer = pair()
    with ours, peer:
        sock = tinygram.CoalescingSocket(ours)
        for _ in counting.rounds(len(BURST)):
            send_each(sock, [BURST])
            counting.pause()
            drain(peer, len(BURST) * len(MESSAGE))
        sock.abort()


def threads_lists() -> None:
    """A list wakes the writing thread once, which makes one write of it."""
    ours, peer = pair()
    with ours, peer:
        sock = tinygram.CoalescingSocket(ours, strategy=tinygram.combine)
        for _ in counting.rounds(len(BURST)):
            sock.send_many(BURST)
            sock.flush()
            counting.pause()
            wait_until_writer_sleeps()
            drain(peer, len(BURST) * len(MESSAGE))
        sock.abort()


def wait_until_writer_sleeps() -> None:
    """Until the one writing thread waits for something to do."""
    while list(writers()) != ["waiting"]:
        os.sched_yield()


def writers() -> Iterator[str]:
    """What each writing thread does: it has its name only once it runs, and may end meanwhile."""
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            if "tinygram-writer" in (task / "comm").read_text():
                system_call = (task / "syscall").read_text().split()[0]
                yield "waiting" if system_call in _WAITS else "working"


How = Literal["write", "writelines", "send_many", "join", "nothing"]


@dataclass(frozen=True)
class OnLoop:
    """A connection of an event loop, and how a round is sent on it."""

    loop: str
    strategy: tinygram.Strategy | None
    """None: the loop as it is."""
    how: How

    def run(self) -> None:
        with asyncio.Runner(loop_factory=self._new_loop) as runner:
            runner.run(self._send())

    def _new_loop(self) -> asyncio.AbstractEventLoop:
        base: type[asyncio.AbstractEventLoop] = asyncio.SelectorEventLoop
        if self.loop == "uvloop":
            base = import_module("uvloop").Loop
        if self.strategy is None:
            return base()
        return tinygram.new_event_loop(base, strategy=self.strategy)

    async def _send(self) -> None:
        ours, peer = pair()
        peer.setblocking(False)
        loop = asyncio.get_running_loop()
        transport, connection = await loop.create_connection(Connection, sock=ours)
        writes: dict[How, Any] = {
            "write": transport.write,
            "join": joining(transport.write),
            "nothing": len,
        }
        # The second is held: from then on there is memory for a whole batch.
        for _ in range(2):
            transport.write(bytes(GROWN_BYTES))
        await receive(peer, 2 * GROWN_BYTES)
        count = len(BURSTS) * len(BURST)
        for _ in counting.rounds(count):
            if self.how in ("writelines", "send_many"):
                await write_lists(getattr(transport, self.how), connection)
            else:
                await write_each(writes[self.how], connection, BURSTS)
            counting.pause()
            await receive(peer, 0 if self.how == "nothing" else count * len(MESSAGE))
        transport.close()
        await connection.wait_closed()
        peer.close()


async def write_lists(write: Callable[[list[bytes]], object], connection: Connection) -> None:
    """Write like `write_each`, but a burst at one go."""
    for burst in BURSTS:
        write(burst)
        await asyncio.sleep(0)
        if not connection.has_room:
            await connection.wait_room()


async def receive(peer: socket.socket, missing: int) -> None:
    """Read what was sent in this loop, in its next iterations."""
    while missing:
        await asyncio.sleep(0)
        with suppress(BlockingIOError):
            missing -= len(peer.recv(missing))


_WAYS: tuple[tuple[str, tinygram.Strategy | None, How], ...] = (
    ("nothing is written", None, "nothing"),
    ("call_soon and join by hand", None, "join"),
    ("write", tinygram.adaptive, "write"),
    ("write, tick", tinygram.tick, "write"),
    ("writelines", tinygram.adaptive, "writelines"),
    ("send_many", tinygram.adaptive, "send_many"),
)
FACES: dict[str, tuple[int, Callable[[], None]]] = {
    "Batch.send": (_DENSE_NS, lambda: batch(send_each, **ROOMY)),
    "Batch.send, adaptive": (_DENSE_NS, lambda: batch(send_each)),
    "Batch.send_many": (_DENSE_NS, lambda: batch(send_lists, **ROOMY)),
    "CoalescingSocket.send": (_DENSE_NS, lambda: threads(send_each)),
    "CoalescingSocket.send_many": (_DENSE_NS, lambda: threads(send_lists)),
    "CoalescingSocket.send, one by one": (_APART_NS, threads_one_by_one),
    "CoalescingSocket.send_many, a list at a time": (_APART_NS, threads_lists),
} | {
    f"{loop}, {name}": (_ITERATION_NS, OnLoop(loop, strategy, how).run)
    for loop in ("asyncio", "uvloop")
    for name, strategy, how in _WAYS
}


def main() -> int:
    global counting
    gc.disable()
    counting = Counting(sys.argv[1])
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    for name, (step_ns, act) in FACES.items():
        if only in name:
            with counting.face(name, step_ns):
                act()
    print(json.dumps(counting.told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
