"""The bench's `stdlib` rows are as fast as the same code written by hand, without the bench.

Each way is written here once more, plainly, and sends the same messages to the same receiver from
the same core. Target: a row is at most 5 % slower than its counterpart by hand (paired, median).
Run with `--send WAY PORT COUNT` this script is the sender by hand.
"""

from __future__ import annotations

import asyncio
import gc
import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from itertools import cycle, islice
from typing import Any

from joining import (
    HOLD_NS,
    MAX_BATCH_BYTES,
    QUEUE_MESSAGES,
    Waiting,
    join_in_loop,
    join_queued,
    through_queue,
)
from pairs import SEED, bench, flat_out_case, measured, paired_ratio, shown, verdict

from tinygram_bench import _native
from tinygram_bench.host.placement import placement
from tinygram_bench.processes.workers import Worker
from tinygram_bench.runs.bench import Bench

_PAIRS = 15
_WARM_UP = 1024


def main() -> int:
    if sys.argv[1:2] == ["--send"]:
        way, port, count = sys.argv[2:]
        return _send(way, int(port), int(count))
    with bench() as stream:
        outcomes = [_compare(stream, way, messages) for way, (_, messages) in WAYS.items()]
    return 0 if all(outcomes) else 1


def _compare(stream: Bench, way: str, messages: int) -> bool:
    runtime, strategy = way.split("/")
    case = flat_out_case(f"runtime={runtime},implementation=stdlib,strategy={strategy}", messages)
    ratio = paired_ratio(
        lambda: measured(stream.run_case(case, 0))["run_time_ns"],
        lambda: _run_by_hand(way, messages),
        _PAIRS,
    )
    what = f"{way}: run time in the bench ÷ by hand"
    return verdict(what, ratio.median <= 1.05, f"{shown(ratio)}, asked 1.05")


def _run_by_hand(way: str, messages: int) -> float:
    """The run time in ns of the sender by hand, against the bench's own receiver."""
    notes_fd = os.memfd_create("notes")
    cpus = placement("apart")
    options = {
        "--messages": _WARM_UP + messages,
        "--min-bytes": 1,
        "--max-bytes": 500,
        "--seed": SEED,
        "--receive-buffer": 256 << 10,
        "--notes": f"/dev/fd/{notes_fd}",
        "--parent": os.getpid(),
        "--cpu": cpus.receiver_cpu,
    }
    words = [str(word) for option in options.items() for word in option]
    module = "tinygram_bench.workloads.stream.receiver"
    try:
        with Worker(
            "receiver", [sys.executable, "-m", module, *words], pass_fds=[notes_fd]
        ) as receiver:
            port = receiver.wait_listening(20)
            command = [sys.executable, __file__, "--send", way, str(port), str(messages)]
            with Worker("sender by hand", command) as sender:
                ended = [each.wait_ended(60) and not each.failure for each in (sender, receiver)]
                if not all(ended):
                    raise SystemExit(f"{sender.failure or receiver.failure or 'it takes too long'}")
                start_ns = int(sender.output)
        notes = os.pread(notes_fd, os.fstat(notes_fd).st_size, 0)
        return _native.read_notes(notes, start_ns)[2] - start_ns
    finally:
        os.close(notes_fd)


def _send(way: str, port: int, count: int) -> int:
    cpu = placement("apart").sender_cpu
    assert cpu is not None
    os.sched_setaffinity(0, {cpu})
    pool = _native.MessagePool(SEED, 1, 500).messages()
    sock = socket.socket()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    sock.connect(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(not way.endswith("nagle")))
    # The bench corks the warm-up, too: a connection that warmed up uncorked is faster.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, int(way.endswith("cork")))
    for message in pool[:_WARM_UP]:
        sock.sendall(message)
    time.sleep(0.3)
    messages = islice(cycle(pool), _WARM_UP, _WARM_UP + count)
    gc.collect()
    gc.freeze()
    start_ns = time.monotonic_ns()
    WAYS[way][0](sock, messages)
    sock.close()
    print(start_ns)
    return 0


def _loop_each(sock: socket.socket, messages: Iterable[bytes]) -> None:
    for message in messages:
        sock.sendall(message)


def _loop_cork(sock: socket.socket, messages: Iterable[bytes]) -> None:
    for message in messages:
        sock.sendall(message)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)


def _threads(sock: socket.socket, messages: Iterable[bytes], send: Callable[..., None]) -> None:
    waiting: queue.Queue[bytes | None] = queue.Queue(QUEUE_MESSAGES)
    thread = threading.Thread(target=send, args=(sock, waiting))
    thread.start()
    for message in messages:
        waiting.put(message)
    waiting.put(None)
    thread.join()


def _take_each(sock: socket.socket, waiting: queue.Queue[bytes | None]) -> None:
    while (message := waiting.get()) is not None:
        sock.sendall(message)


def _take_coalesced(sock: socket.socket, waiting: queue.Queue[bytes | None]) -> None:
    message = waiting.get()
    while message is not None:
        deadline_ns = time.monotonic_ns() + HOLD_NS
        batch: list[bytes] = []
        batch_bytes = 0
        while message is not None:
            batch.append(message)
            batch_bytes += len(message)
            left_ns = deadline_ns - time.monotonic_ns()
            if batch_bytes >= MAX_BATCH_BYTES or left_ns <= 0:
                break
            try:
                message = waiting.get(timeout=left_ns / 1e9)
            except queue.Empty:
                break
        sock.sendall(b"".join(batch))
        if message is not None:
            message = waiting.get()


async def _tasks(
    sock: socket.socket, messages: Iterable[bytes], send: Callable[..., Coroutine[Any, Any, None]]
) -> None:
    is_nagle = not sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    async def put_all(waiting: Waiting) -> None:
        if is_nagle:  # asyncio has switched TCP_NODELAY on.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        for message in messages:
            await waiting.put(message)
        await waiting.put(None)

    await through_queue(sock, put_all, send)


async def _await_each(writer: asyncio.StreamWriter, waiting: Waiting) -> None:
    while (message := await waiting.get()) is not None:
        writer.write(message)
        await writer.drain()


def _in_thread(send: Callable[..., None]) -> Callable[..., None]:
    return lambda sock, messages: _threads(sock, messages, send)


def _in_tasks(send: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    return lambda sock, messages: asyncio.run(_tasks(sock, messages, send))


WAYS: dict[str, tuple[Callable[..., None], int]] = {
    "loop/nagle": (_loop_each, 400_000),
    "loop/nodelay": (_loop_each, 400_000),
    "loop/coalesce:10us": (join_in_loop, 1_000_000),
    "loop/cork": (_loop_cork, 400_000),
    "threads/nagle": (_in_thread(_take_each), 100_000),
    "threads/nodelay": (_in_thread(_take_each), 100_000),
    "threads/coalesce:10us": (_in_thread(_take_coalesced), 200_000),
    "asyncio/nagle": (_in_tasks(_await_each), 200_000),
    "asyncio/nodelay": (_in_tasks(_await_each), 200_000),
    "asyncio/coalesce:10us": (_in_tasks(join_queued), 300_000),
}
"""Way → its function that sends by hand, and how many messages one run has."""


if __name__ == "__main__":
    sys.exit(main())
