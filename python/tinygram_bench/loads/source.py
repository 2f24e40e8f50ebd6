"""Where a sender's messages come from: burst by burst, flat out or when they are due.

Laws: the messages are the same for every case; the first ones warm the connection up and are not
measured; they have all arrived before the clock starts; while it runs, nothing here computes
statistics. A runtime asks for bursts until there is none left.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Protocol

from tinygram_bench._native import MessagePool, Pacer
from tinygram_bench.loads.openings import Openings

BURST_MESSAGES = 64
"""The most messages that are handed over at one instant flat out, or taken from a queue at once."""

SETTLE_STEP_S = 0.0005
_SETTLE_LIMIT_NS = 10_000_000_000


class Bursts(Protocol):
    def next_burst(self, until_ns: int | None = None) -> Sequence[bytes] | None:
        """Wait for the next messages; empty when `until_ns` came first, None at the end.

        Times are CLOCK_MONOTONIC in nanoseconds.
        """


class AwaitableBursts(Protocol):
    async def next_burst(self, until_ns: int | None = None) -> Sequence[bytes] | None: ...


@lru_cache(maxsize=2)
def message_pool(
    seed: int, min_bytes: int, max_bytes: int, producers: int = 1, connections: int = 1
) -> MessagePool:
    """The pool of such messages, made once for all runs of a process."""
    return MessagePool(seed, min_bytes, max_bytes, producers, connections)


@lru_cache(maxsize=2)
def _messages_of(pool: MessagePool) -> list[bytes]:
    return pool.messages()


def _waited(wait_ns: Callable[[], int | None], until_ns: int | None = None) -> int | None:
    """Sleep as long as `wait_ns` says, or until `until_ns`.

    Returns what `wait_ns` says then: 0 or None, or more where `until_ns` came first.
    """
    while left_ns := wait_ns():
        sleep_ns = left_ns
        if until_ns is not None:
            sleep_ns = min(left_ns, until_ns - time.monotonic_ns())
            if sleep_ns <= 0:
                break
        time.sleep(sleep_ns / 1e9)
    return left_ns


def _repeated(messages: list[bytes], first: int, last: int) -> list[bytes]:
    """Messages `first` … `last` − 1 of a stream that repeats these without end.

    They are copied in slices: work in Python for each one would be measured with the sender.
    """
    start = first % len(messages)
    found = messages[start : start + last - first]
    while len(found) < last - first:
        found += messages[: last - first - len(found)]
    return found


class Share:
    """The messages of one producer: `first`, `first` + `step`, … below `end`."""

    def __init__(
        self,
        messages: list[bytes],
        first: int,
        step: int,
        end: int,
        pacer: Pacer | None,
        openings: Openings | None = None,
    ) -> None:
        """`messages`: the pool's. `pacer` has the times of this share only; None: flat out.

        `openings`: when messages are handed over flat out, None: always.
        """
        self._messages = messages[first % step :: step]
        self._first = self._next = first // step
        self._end = self._next + len(range(first, end, step))
        self.pacer = pacer
        self.openings = openings
        self.hand_overs_ns = array("Q")
        """When messages were handed over: paced, each one; flat out, the first of each 64."""

    @property
    def handed_over(self) -> int:
        """How many messages have been handed over."""
        return self._next - self._first

    def send(
        self,
        send: Callable[[bytes], object],
        is_over: Callable[[], bool],
        send_many: Callable[[Sequence[bytes]], object] | None = None,
    ) -> None:
        """Call `send` with each message, flat out or when it is due, until `is_over`.

        `send_many`: called in place of `send`, with all messages that are due at an instant.
        """
        note = self.hand_overs_ns.append
        while (burst := self._next_burst()) and not is_over():
            if send_many is not None:
                for _ in burst if self.pacer is not None else burst[:1]:
                    note(time.monotonic_ns())
                send_many(burst)
            elif self.pacer is None:
                note(time.monotonic_ns())
                for message in burst:
                    send(message)
            else:
                for message in burst:
                    note(time.monotonic_ns())
                    send(message)

    def _next_burst(self) -> Sequence[bytes]:
        if self.pacer is None:
            if self.openings is not None and _waited(self.openings.wait_ns) is None:
                return ()
            count = min(BURST_MESSAGES, self._end - self._next)
        else:
            due, past = self.pacer.wait()
            count = past - due
        first = self._next
        self._next += count
        return _repeated(self._messages, first, self._next)


class Source:
    """The messages of one run.

    `pool`: the messages. `warm_up`: how many precede the measured ones.
    `count`: how many are measured; `pacer` says when each is due, None: flat out.
    `has_settled`: whether all warm-up messages have arrived. `on_start`: called when the clock is
    about to start; it may say when that is (CLOCK_MONOTONIC, ns). Raises TimeoutError when the
    warm-up does not arrive within 10 s and the strategy's hold. `flat_out_burst`: how many messages
    are handed over at one instant flat out; it divides 64. `openings`: when messages are handed
    over flat out, None: always; then fewer than `count` may be measured. `over_ns`: how long after
    the start the messages end at the earliest, even if the last one was handed over before.
    """

    def __init__(
        self,
        pool: MessagePool,
        warm_up: int,
        count: int,
        pacer: Pacer | None,
        has_settled: Callable[[], bool],
        on_start: Callable[[], int | None],
        hold_ns: int = 0,
        shares: Sequence[Share] = (),
        flat_out_burst: int = BURST_MESSAGES,
        openings: Openings | None = None,
        over_ns: int = 0,
    ) -> None:
        self.pool = pool
        self._messages = _messages_of(pool)
        self.measured = (warm_up, warm_up + count)
        """The first measured message of the stream, and one past the last."""
        self._warm_up = warm_up
        self._next = 0
        self._has_settled = has_settled
        self._on_start = on_start
        self._settle_limit_ns = _SETTLE_LIMIT_NS + hold_ns
        self._settle_by_ns: int | None = None
        self.start_ns: int | None = None
        self.pacer = pacer
        self.shares = shares
        """The measured messages of each producer, where several send."""
        self.holds_back = hold_ns > 0
        """Whether the strategy has deadlines of its own, which spinning would delay."""
        self.hand_overs_ns = array("Q")
        """Flat out: when every 64th message was handed over."""
        self._flat_out_burst = flat_out_burst
        self.openings = openings
        self._over_ns = over_ns

    def next_burst(self, until_ns: int | None = None) -> Sequence[bytes] | None:
        """The next messages to send; see `Bursts.next_burst`."""
        while not self.start_when_settled():
            if until_ns is not None and time.monotonic_ns() >= until_ns:
                return ()
            time.sleep(SETTLE_STEP_S)
        if self.start_ns is None:
            return self.next_flat_out()
        if self.pacer is not None:
            first, last = self.pacer.wait(until_ns)
            burst = self.due_messages(first, last)
        elif self.openings is None or (left_ns := _waited(self.openings.wait_ns, until_ns)) == 0:
            burst = self.next_flat_out()
        else:
            burst = None if left_ns is None else ()
        return burst if burst is not None else self._ended(until_ns)

    def _ended(self, until_ns: int | None) -> Sequence[bytes] | None:
        """When all is handed over: None once messages may end, empty when `until_ns` came first."""
        return () if _waited(self.rest_ns, until_ns) else None

    def rest(self) -> None:
        """Sleep until the messages may end, after all were handed over."""
        _waited(self.rest_ns)

    def rest_ns(self) -> int:
        """How long it is until the messages may end, in ns; 0: they may."""
        if self.start_ns is None:
            return 0
        return max(0, self.start_ns + self._over_ns - time.monotonic_ns())

    def wait_started(self) -> Pacer | None:
        """Block until the clock has started, for a sender that has sent the warm-up itself."""
        self._next = self._warm_up
        while not self.start_when_settled():
            time.sleep(SETTLE_STEP_S)
        return self.pacer

    def warm_up(self) -> Iterator[bytes]:
        """The messages of the warm-up, for a sender that sends them itself."""
        return (self._messages[index % len(self._messages)] for index in range(self._warm_up))

    @property
    def largest_bytes(self) -> int:
        """The size of the largest message."""
        return max(map(len, self._messages))

    def handed_over(self) -> tuple[int, ...]:
        """How many of the measured messages each producer has handed over."""
        if self.shares:
            return tuple(share.handed_over for share in self.shares)
        return (self._next - self._warm_up,)

    def skip(self, count: int) -> None:
        """Note how many messages were sent by a runtime that takes them from the pool itself."""
        self._next += count

    def pacers(self) -> list[Pacer]:
        """The pacers of all producers; none flat out."""
        pacers = (self.pacer, *(share.pacer for share in self.shares))
        return [pacer for pacer in pacers if pacer is not None]

    def start_when_settled(self) -> bool:
        """Start the clock once the whole warm-up has arrived; False while it has not."""
        if self.start_ns is not None or self._next < self._warm_up:
            return True
        now_ns = time.monotonic_ns()
        if self._settle_by_ns is None:
            self._settle_by_ns = now_ns + self._settle_limit_ns
        if not self._has_settled():
            if now_ns > self._settle_by_ns:
                raise TimeoutError(
                    f"the warm-up had not arrived after {self._settle_limit_ns / 1e9:g} s"
                )
            return False
        start_ns = self._on_start()
        self.start_ns = time.monotonic_ns() if start_ns is None else start_ns
        for pacer in self.pacers():
            pacer.start(self.start_ns)
        for openings in (self.openings, *(share.openings for share in self.shares)):
            if openings is not None:
                openings.start(self.start_ns)
        return True

    def due_messages(self, first: int, last: int) -> Sequence[bytes] | None:
        """Messages `first` … `last` − 1 of the schedule; None when there are no more."""
        # This runs between the due time and the write, so it does as little as possible.
        if first == last and self.pacer is not None and self.pacer.is_finished:
            return None
        return self._slice(self._warm_up + first, self._warm_up + last)

    def next_flat_out(self) -> Sequence[bytes] | None:
        """The next messages of the warm-up, or of a flat-out stream; None: there are no more."""
        first = self._next
        if first == self.measured[1]:
            return None
        if self.start_ns is None:
            self._next = min(first + BURST_MESSAGES, self._warm_up)
        else:
            self._next = min(first + self._flat_out_burst, self.measured[1])
            if (first - self._warm_up) % BURST_MESSAGES == 0:
                self.hand_overs_ns.append(time.monotonic_ns())
        return self._slice(first, self._next)

    def _slice(self, first: int, last: int) -> Sequence[bytes]:
        return _repeated(self._messages, first, last)
