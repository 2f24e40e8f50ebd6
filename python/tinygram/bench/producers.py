"""Producers: the threads that have messages to send, one or several at the same time.

Laws: message i is producer (i modulo their number)'s; each sends its own in order; the warm-up is
sent by the thread that starts them.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Sequence
from time import monotonic_ns

from tinygram._native import Pacer
from tinygram.bench.source import BURST_MESSAGES, Source

MAX_PRODUCERS = 256
"""As many as the first byte of a message can tell."""

Send = Callable[[bytes], object]


class Share:
    """The messages of one producer: `first`, `first` + `step`, … below `end`."""

    def __init__(
        self, messages: Sequence[bytes], first: int, step: int, end: int, pacer: Pacer | None
    ) -> None:
        """`messages`: the pool's. `pacer` has the times of these alone; None: flat out."""
        self._messages = messages[first % step :: step]
        self._next = first // step
        self._end = self._next + len(range(first, end, step))
        self.pacer = pacer
        self.hand_overs_ns = array("Q")
        """When messages were handed over: paced each, flat out the first of each 64."""

    def send(self, send: Send, is_over: Callable[[], bool]) -> None:
        """Call `send` with each message, flat out or when it is due, until `is_over`."""
        note = self.hand_overs_ns.append
        while (burst := self._next_burst()) and not is_over():
            if self.pacer is None:
                note(monotonic_ns())
                for message in burst:
                    send(message)
            else:
                for message in burst:
                    note(monotonic_ns())
                    send(message)

    def _next_burst(self) -> Sequence[bytes]:
        if self.pacer is None:
            count = min(BURST_MESSAGES, self._end - self._next)
        else:
            due, past = self.pacer.wait()
            count = past - due
        first = self._next
        self._next += count
        messages = self._messages
        return [messages[index % len(messages)] for index in range(first, self._next)]


def produce(source: Source, send: Send, is_over: Callable[[], bool] = lambda: False) -> None:
    """Call `send` with every message, from this thread or, where there are several, from theirs.

    Each producer stops when `is_over`. Raises what `send` raised first.
    """
    if not source.shares:
        while not is_over() and (burst := source.next_burst()) is not None:
            for message in burst:
                send(message)
        return
    failures: list[BaseException] = []
    may_start = threading.Event()

    def run(share: Share) -> None:
        may_start.wait()
        try:
            share.send(send, lambda: bool(failures) or is_over())
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
