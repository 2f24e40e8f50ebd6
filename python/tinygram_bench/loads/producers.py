"""Producers: one or several threads that hand messages over at the same time.

Laws: message i belongs to producer i modulo their number; each sends its own messages in order; the
warm-up is sent by the thread that starts the producers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tinygram_bench.loads.source import Share, Source

MAX_PRODUCERS = 256
"""The first byte of a message names its producer."""
MAX_POOL_BYTES = 64 << 20
"""The most bytes in a pool of messages, in which each producer must have a message."""

Send = Callable[[bytes], object]
SendMany = Callable[[Sequence[bytes]], object]


def produce(
    source: Source,
    send: Send,
    is_over: Callable[[], bool] = lambda: False,
    send_many: SendMany | None = None,
) -> None:
    """Call `send` with every message, from this thread, or from those of several producers.

    `send_many`: called in place of `send`, with each list of messages that are handed over at one
    instant. Each producer stops when `is_over`. Raises the first error of `send`.
    """
    if not source.shares:
        while not is_over() and (burst := source.next_burst()) is not None:
            if send_many is not None:
                send_many(burst)
                continue
            for message in burst:
                send(message)
        return
    failures: list[BaseException] = []
    may_start = threading.Event()

    def has_ended() -> bool:
        return bool(failures) or is_over()

    def run(share: Share) -> None:
        may_start.wait()
        try:
            share.send(send, has_ended, send_many)
            if not has_ended():
                source.rest()
        except BaseException as failure:  # noqa: BLE001 - it is raised again below
            failures.append(failure)

    threads = [
        threading.Thread(target=run, args=(share,), name=f"producer-{number}", daemon=True)
        for number, share in enumerate(source.shares)
    ]
    for thread in threads:
        thread.start()
    for message in source.warm_up():
        send(message)
    source.wait_started()
    may_start.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
