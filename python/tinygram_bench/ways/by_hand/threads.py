"""A bounded queue and a sending thread."""

from __future__ import annotations

import queue
import socket
import threading

from tinygram_bench.loads.producers import produce
from tinygram_bench.loads.source import Source
from tinygram_bench.ways.by_hand.blocking import STRATEGIES
from tinygram_bench.ways.by_hand.queued import END, QUEUE_MESSAGES, QueuedBursts
from tinygram_bench.ways.runtimes import Way


def run(sock: socket.socket, source: Source, way: Way) -> None:
    """Put every message into the queue; a thread sends them. Raises whatever that thread raised."""
    messages: queue.Queue[bytes | None] = queue.Queue(QUEUE_MESSAGES)
    failures: list[BaseException] = []
    bursts = QueuedBursts(messages)

    def send() -> None:
        try:
            STRATEGIES[way.strategy.name](sock, bursts, way)
        except BaseException as failure:  # noqa: BLE001 - it is raised again by the producer
            failures.append(failure)
            # The producer may be waiting for room, so the queue is emptied; END may be taken
            # already.
            while bursts.next_burst() is not None:
                continue

    # A daemon thread: if the producer failed, nothing would tell this thread to end.
    thread = threading.Thread(target=send, name="sending", daemon=True)
    thread.start()
    try:
        produce(source, messages.put, lambda: bool(failures))
    except BaseException:
        # The thread may be waiting for a receiver that does not read.
        sock.shutdown(socket.SHUT_RDWR)
        raise
    finally:
        messages.put(END)
        thread.join()
    if failures:
        raise failures[0]
