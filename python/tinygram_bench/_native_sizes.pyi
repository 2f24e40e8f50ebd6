"""The part of the stub of `_native` that `sizes` needs (crates/load/src/sizes); not a module."""

from typing import final

from tinygram_bench._native import Admission, Histogram

@final
class SizesServer:
    """Answers the connections of `sizes`, on 127.0.0.1 unless told another `host`.

    A peer costs a slot of fixed size; when all `max_connections` are taken, the one that was silent
    the longest gives way. Setups above `max_message_bytes` or `max_messages` are reset. Each port
    has its own counters.
    """

    def __new__(
        cls,
        port: int,
        max_message_bytes: int,
        max_messages: int,
        max_connections: int,
        congestion_control: str,
        compared: tuple[int, int] | None = None,
        host: str = "127.0.0.1",
        client: Admission | None = None,
        ports: int = 1,
    ) -> SizesServer:
        """Listen; with port 0 the kernel picks one. OSError when it is not available.

        `compared`: compare every byte with the content of this seed; the largest sample's bytes.
        `client`: connections of others are closed at once, and counted.
        `ports`: how many there are; the kernel picks all but the first. ValueError for 0.
        """

    @property
    def port(self) -> int:
        """The first one."""

    @property
    def ports(self) -> list[int]: ...
    def serve(
        self, samples: int | None = None, stop_fd: int | None = None
    ) -> list[tuple[str, int]]:
        """Serve until that many samples have come, None: without end; returns named counters.

        It also ends when `stop_fd` is readable.

        ValueError: a byte is not the one that was sent. OSError: the kernel cannot go on. What a
        signal's handler raises; it may then be called again.
        """

    def counters(self) -> list[tuple[str, int]]:
        """The named counters so far, of all ports together."""

    def counters_by_port(self) -> list[list[tuple[str, int]]]:
        """The same of each port."""

def take_samples(
    cells: list[tuple[str, int, int, bool, bool]],
    congestion_control: str,
    seed: int,
    order_seed: int,
    timeout_ns: int,
    first: int,
    samples: int,
    own: Admission | None = None,
) -> list[tuple[list[tuple[str, int]], list[tuple[str, Histogram]], list[int], str | None]]:
    """Take of each cell `first` samples that are kept apart, and then `samples`.

    A cell: the server's IP:PORT, the length and the count of messages, whether the setup leaves
    with the first message, and TCP_NODELAY. Of several each cycle takes one sample of each, in an
    order that `order_seed` gives. A sample is a connection. Where there are messages, one more lies
    between, in no figure: the last byte of its first message is withheld, for 10 ms and two round
    trips, to see that no acknowledgement comes before. `own`: by what the server knows the
    connections.

    Returns for each cell named counters; named histograms of nanoseconds, those that hold
    something; the time of its sample in each cycle in nanoseconds, or, of over 1,000, the medians
    of cycles in a row; and None, or what failed in which sample and stage: then the others are
    empty, and the cell has no more samples. ValueError: an address is not IP:PORT.
    """

def time_local(part: str, first: int, samples: int, far_cpu: int | None = None) -> Histogram:
    """Time a part of what a round trip costs on this host, `samples` times after `first`.

    `system-call`: one that does nothing; `one-thread`: a round trip of which this thread has both
    ends; `two-threads`: one with a thread on the core `far_cpu`. OSError; ValueError for others.
    """
