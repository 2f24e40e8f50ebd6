"""The part of the stub of `_native` that `sizes` needs (crates/load/src/sizes); not a module."""

from typing import final

from tinygram_bench._native import Histogram

@final
class SizesServer:
    """Answers the connections of `sizes`, on 127.0.0.1 unless told another `host`.

    A peer costs a slot of fixed size; when all `max_connections` are taken, the one that was silent
    the longest gives way. Setups above `max_message_bytes` or `max_messages` are reset.
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
        client_host: str | None = None,
    ) -> SizesServer:
        """Listen; with port 0 the kernel picks one. OSError when it is not available.

        `compared`: compare every byte with the content of this seed; the largest sample's bytes.
        `client_host`: connections from another IPv4 address are closed at once, and counted.
        """

    @property
    def port(self) -> int: ...
    def serve(
        self, samples: int | None = None, stop_fd: int | None = None
    ) -> list[tuple[str, int]]:
        """Serve until that many samples have come, None: without end; returns named counters.

        It also ends when `stop_fd` is readable.

        ValueError: a byte is not the one that was sent. OSError: the kernel cannot go on. What a
        signal's handler raises; it may then be called again.
        """

    def counters(self) -> list[tuple[str, int]]:
        """The named counters so far."""

def take_samples(
    address: str,
    length: int,
    count: int,
    is_setup_joined: bool,
    is_nodelay: bool,
    congestion_control: str,
    seed: int,
    timeout_ns: int,
    first: int,
    samples: int,
    own_host: str | None = None,
) -> tuple[list[tuple[str, int]], list[tuple[str, Histogram]]]:
    """Take `first` samples that are kept apart, and then `samples`, from a server at `address`.

    Where there are messages, one sample lies between, in no figure: the last byte of its first
    message is withheld, for 10 ms and two round trips, to see that no acknowledgement comes before.
    Each is a connection with `count` messages of `length` bytes. `is_setup_joined`: the setup
    leaves with the first message; `own_host`: the IPv4 address to connect from, None: the kernel
    picks one. Returns named counters, and named histograms of nanoseconds:
    those that hold something. OSError names the sample and the stage that failed; ValueError: the
    address is not IPv4:PORT.
    """

def time_local(part: str, first: int, samples: int, far_cpu: int | None = None) -> Histogram:
    """Time a part of what a round trip costs on this host, `samples` times after `first`.

    `system-call`: one that does nothing; `one-thread`: a round trip of which this thread has both
    ends; `two-threads`: one with a thread on the core `far_cpu`. OSError; ValueError for others.
    """
