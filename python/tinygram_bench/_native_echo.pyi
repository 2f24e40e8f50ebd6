"""The part of the stub of `_native` that `tinygram echo` needs; no module has this name."""

from collections.abc import Callable, Sequence
from typing import Protocol, final

from tinygram_bench._native import Admission, Histogram

__all__ = ["EchoClient", "EchoServer"]

class EncryptedConnection(Protocol):
    """A connection that does not block; not a class of the module. All errors end the client."""

    def send(self, data: bytes, /) -> tuple[int, int]:
        """Send what the connection takes now: how many bytes that were.

        The second number: how many after them are in a record that is encrypted, and are offered
        again.
        """

    def receive(self, most: int, /) -> bytes | None:
        """Read one record at most; empty: the peer has ended, None: nothing has come."""

@final
class EchoClient:
    """Keeps messages of several connections in flight, and compares every byte that comes back.

    All errors are OSError, and name the worker, from 0 on.
    """

    def __new__(
        cls,
        host: str,
        port: int,
        seed: int,
        message_bytes: int,
        workers: int,
        depth: int,
        congestion_control: str | None,
        connect_timeout_ns: int,
        trusts: bool = False,
        polls: bool = False,
        own: Admission | None = None,
        encrypt: Callable[[int], EncryptedConnection] | None = None,
    ) -> EchoClient:
        """Connect `workers` times; each will have `depth` messages in flight.

        `trusts`: count bytes and believe that they are the right ones; `fault` then tells what the
        comparison finds. `polls`: its core is its own, and it asks for a while before it sleeps;
        that is not in the CPU time that `run` tells. `own`: by what the server knows the
        connections. `encrypt`: makes an encrypted connection of each descriptor, which stays the
        client's. ValueError unless there is a worker, a depth, and a size of 1 B to 1 GiB.
        """

    def connects_ns(self) -> list[int]:
        """How long connecting took, for each connection, ns."""

    def keep_to(self, rate_per_s: float, arrival: str, duration_ns: int, seed: int) -> None:
        """Have messages due at times that are made now: the next run sends each when it is due.

        Message i is that of worker i modulo their number. It is sent when it is due, or as soon
        after that as fewer than `depth` of its worker are in flight, in a later slice if need be.
        Round trips count from when it was due, and are those of the slice in which it was. A run
        has a duration, or slices, and own time of `duration_ns`. ValueError where there is no such
        schedule.
        """

    def run(
        self, messages: int | None, duration_ns: int | None, timeout_ns: int
    ) -> list[tuple[str, int]]:
        """Exchange that many messages, all workers' together, or for that long.

        Returns `counters()`. OSError at the first wrong byte, or when it takes `timeout_ns` (beyond
        the duration).
        """

    def run_in_slices(
        self,
        slices: tuple[Sequence[int], int, int],
        open_ns: int,
        start_ns: int,
        timeout_ns: int,
    ) -> None:
        """Exchange messages in each slice, and sleep in between; see `slices` and `counters`.

        `slices`: when each begins after `start_ns` (CLOCK_MONOTONIC), how long each is, and how
        much of it settles, and is not counted. `open_ns`: how much of a slice messages are begun
        in; what is in flight by then is waited for, and not counted either. At a rate that is the
        whole slice.

        ValueError where the slices overlap. OSError at the first wrong byte, or when a slice takes
        `timeout_ns` longer than it lasts.
        """

    def counters(self) -> list[tuple[str, int]]:
        """Named counters of the last run, all its slices together.

        Among them `start_ns`, when it began (CLOCK_MONOTONIC), `messages`, all that came back, and
        `middle_messages`, those that were counted, as in all others. At a rate also
        `messages_not_begun`, those that were due and could not be sent before the end, and
        `behind_ns`, how long the first of them had been due by then.
        """

    def slices(self) -> list[tuple[int, int, int, int]]:
        """For each slice: the messages counted, in how many ns, all that came back, and when.

        When: the last read of all, CLOCK_MONOTONIC, ns.
        """

    def round_trips_of_slices(self) -> list[bytes]:
        """The round trips of each slice, one by one, as native numbers of 8 bytes, in ns."""

    def round_trips(self) -> Histogram:
        """Round trips of the last run: from before the write to after the last byte's read, ns.

        At a rate from when messages were due; those not begun have the time that they had waited.
        """

    def start_delays(self) -> Histogram:
        """From when each message was due to before its write, ns; empty without a rate."""

    def fault(self) -> str | None:
        """The first fault that a trusting client overlooked; None: there was none."""

    def finish(self, patience_ns: int) -> None:
        """End the connections; OSError when something more comes back until the server's end."""

@final
class EchoServer:
    """Sends back what it reads, on one thread; whoever connects to `host` is served.

    With `max_connections` open, the one that was silent for longest is ended for a new one.
    """

    def __new__(
        cls,
        port: int,
        buffer_bytes: int,
        message_bytes: int | None = None,
        strategy: tuple[str, int | None] | None = None,
        congestion_control: str | None = None,
        sends_whole_buffer: bool = False,
        host: str = "127.0.0.1",
        max_connections: int | None = None,
        client: Admission | None = None,
    ) -> EchoServer:
        """Listen; port 0: the kernel picks one. `buffer_bytes`: per read at most.

        With `message_bytes` and a `strategy` (its name and duration_ns) each message is sent when
        that says so; without, what was read goes back at once; with `sends_whole_buffer`, which is
        a fault, the buffer.
        `max_connections` None: as many as together keep no more than 1 GiB, at most 4,096, or what
        the process's limit of descriptors leaves. `client`: connections of others are
        closed at once, and counted.
        OSError when the port is not available, ValueError for arguments that do not go together.
        """

    @property
    def port(self) -> int: ...
    @property
    def strangers(self) -> int:
        """How many connections were not of the `client` so far; any thread may ask."""

    def serve(self, stop_fd: int | None = None) -> list[tuple[str, int]]:
        """Serve until `stop_fd` is readable, without it for ever; the named counters. OSError."""
