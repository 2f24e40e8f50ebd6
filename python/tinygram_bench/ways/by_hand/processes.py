"""A multiprocessing queue, and a child process that owns the socket."""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import threading
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from tinygram_bench import _native
from tinygram_bench.loads.source import Source
from tinygram_bench.ways.by_hand.blocking import STRATEGIES
from tinygram_bench.ways.by_hand.queued import END, QUEUE_MESSAGES, MessageQueue, QueuedBursts
from tinygram_bench.ways.runtimes import Way


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Put every message into the queue; a forked process sends them.

    If the child fails, this process ends, too: nothing else would empty the queue.
    """
    context = multiprocessing.get_context("fork")
    messages: multiprocessing.Queue[bytes | None] = context.Queue(QUEUE_MESSAGES)
    holds, child_holds = context.Pipe(duplex=False)
    child = context.Process(
        target=_send, args=(sock, messages, child_holds, way, os.getpid()), daemon=True
    )
    child.start()
    child_holds.close()
    way.child_pids.append(child.pid or 0)
    has_given_up = threading.Event()
    watch = threading.Thread(target=_fail_with, args=(child, has_given_up), daemon=True)
    watch.start()
    try:
        while (burst := source.next_burst()) is not None:
            for message in burst:
                messages.put(message)
        messages.put(END)
    except BaseException:
        # The exception is what went wrong, not the end of the child, which ends with this process.
        has_given_up.set()
        # The queue's other end may be gone; the child ends with this process.
        messages.cancel_join_thread()
        raise
    try:
        way.holds_ns.frombytes(holds.recv_bytes())
    except EOFError:
        # The child failed and has said why: `watch` ends this process.
        watch.join()
        raise
    messages.close()
    messages.join_thread()
    child.join()


def _send(
    sock: socket.socket, messages: MessageQueue, holds: Connection, way: Way, parent_pid: int
) -> None:
    _native.die_with_parent(parent_pid)
    STRATEGIES[way.strategy.name](sock, QueuedBursts(messages), way)
    holds.send_bytes(way.holds_ns.tobytes())


def _fail_with(child: BaseProcess, has_given_up: threading.Event) -> None:
    child.join()
    if has_given_up.is_set():
        return
    status = child.exitcode or 0
    if status < 0:
        # In other cases the last line of the child's stderr is the reason.
        print(f"the sending process was killed by signal {-status}", file=sys.stderr, flush=True)
    if status:
        os._exit(1)
