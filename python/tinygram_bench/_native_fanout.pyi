"""Part of the bench's native module; see _native.pyi."""

from collections.abc import Sequence
from typing import final

from tinygram_bench._native import Admission, Histogram

_Slices = tuple[Sequence[int], int, int]
_Pace = tuple[float, str, int, int, int]

@final
class Publications:
    """What a publisher sends to all: a message's number and due time in front, and random bytes."""

    def __new__(cls, seed: int, message_bytes: int) -> Publications:
        """Raises ValueError below 16 bytes."""
    def message(self, number: int, due_ns: int) -> bytes:
        """Publication `number`, due at `due_ns` (CLOCK_MONOTONIC)."""

def publications_due_ns(pace: _Pace, table: _Slices) -> list[int]:
    """When each is due, in ns after the start; `pace`: rate per second, `constant` or `poisson`,
    how many at a time, duration in ns and seed.

    Raises ValueError.
    """

@final
class Subscribers:
    """All subscribers of a publisher, on the calling thread; every byte is compared.

    OSError names the subscriber that got something else, or too little.
    """

    def __new__(
        cls,
        publications: Publications,
        congestion_control: str,
        host: str,
        publisher: Admission | None = None,
    ) -> Subscribers:
        """Listen on an address of this host, at `port`. Raises OSError.

        Connections that are not of the `publisher` are closed at once, and counted.
        """
    @property
    def port(self) -> int: ...
    def warm_up(self, count: int, warm_up: int, patience_ns: int) -> None:
        """Accept `count` connections, and `warm_up` publications on each.

        The first connection may come at any time. Raises OSError, also where no further one has
        come for `patience_ns`, or the warm-up has not come so long after the last one.
        """
    def receive(
        self,
        table: _Slices,
        open_ns: int,
        start_ns: int,
        give_up_ns: int,
        difference: tuple[int, int, float] | None = None,
    ) -> list[tuple[str, int]]:
        """Receive until the publisher ends all connections; counters.

        `table`: when slices begin after `start_ns`, how long each is, and how much of it settles;
        what comes after that and before `open_ns` is its middle. `give_up_ns`: CLOCK_MONOTONIC.
        All other times are the publisher's, whose clock differs from this one by `difference`
        (hosts/difference.py); None: they are one clock. Raises OSError.
        """
    def slices(self) -> list[tuple[int, int, int]]:
        """For each slice: messages in its middle, all that were due in it, and when the last of
        these came, CLOCK_MONOTONIC.
        """
    def latencies_of_slices(self) -> list[tuple[bytes, bytes]]:
        """For each slice, in native u32 of ns: how late each measured message came, and each
        publication at its last subscriber.
        """
    def latencies(self) -> Histogram:
        """Latency of all measured messages."""
    def lasts(self) -> Histogram:
        """Latency of all measured publications at their last subscribers."""

@final
class NativePublisher:
    """Writes to sockets that stay open: a send call for each, or `is_ring`, by io_uring(7).

    For io_uring they must block. OSError names the subscriber that is lost or does not keep up.
    """

    def __new__(cls, fds: Sequence[int], is_ring: bool) -> NativePublisher:
        """Raises OSError where the kernel does not permit it."""
    def warm_up(self, publications: Publications, count: int, patience_ns: int) -> None:
        """Publish so often, from number 0. Raises OSError."""
    def publish(
        self,
        publications: Publications,
        first: int,
        table: _Slices,
        open_ns: int,
        start_ns: int,
        pace: _Pace | None,
        burst: int,
        patience_ns: int,
    ) -> int:
        """Publish in slices from number `first`, without `pace` so many at a time as `burst`
        says as soon as those before them were handed over; how many were published. Raises OSError.
        """
    def calls(self) -> tuple[int, int]:
        """System calls so far that handed bytes to the kernel, and that found a buffer full."""

@final
class Timer:
    """A timer of CLOCK_MONOTONIC (timerfd_create(2)); raises OSError."""

    def __new__(cls) -> Timer: ...
    def fileno(self) -> int:
        """Readable once its time has come."""
    def set(self, at_ns: int) -> None: ...
    def take(self) -> bool:
        """Clear it; false where its time has not come."""
