"""A plain loop that sends what comes out of a queue, and holds nothing beyond its time.

`batch` gathers small messages into few writes. While the queue has more, they gather; when it is
empty, the loop waits for the next message until `deadline_ns` at most and then calls `poll`.
"""

from __future__ import annotations

import queue
import socket
import threading
import time

import tinygram

COUNT = 10_000


def produce(messages: queue.Queue[bytes | None]) -> None:
    """Another part of the program: its messages are ready now and then, many at once."""
    for number in range(COUNT):
        messages.put(b"%d\n" % number)
        if number % 1000 == 0:
            time.sleep(0.002)
    messages.put(None)


def send_all(messages: queue.Queue[bytes | None], out: tinygram.Batch) -> None:
    """The loop: it waits for a message, but not beyond the time of what is held."""
    while True:
        wait_s = None
        if out.deadline_ns is not None:
            wait_s = max(0, out.deadline_ns - time.monotonic_ns()) / 1e9
        try:
            message = messages.get(timeout=wait_s)
        except queue.Empty:
            out.poll()
            continue
        if message is None:
            return
        out.send(message)


def main() -> None:
    """Send to ourselves, over loopback."""
    messages: queue.Queue[bytes | None] = queue.Queue()
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()) as sock,
        listening.accept()[0] as peer,
        peer.makefile("rb") as received,
    ):
        threading.Thread(target=produce, args=(messages,)).start()
        with sock, tinygram.batch(sock, strategy=tinygram.coalesce(200)) as out:
            send_all(messages, out)
            stats = out.stats()
        lines = [int(line) for line in received]
    assert lines == list(range(COUNT))
    print(f"{len(lines)} messages arrived in order")
    print(f"few writes: {stats.writes < COUNT / 2}")


if __name__ == "__main__":
    main()
