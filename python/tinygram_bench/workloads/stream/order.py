"""The orders to the processes of `stream`, and the sender's report."""

from __future__ import annotations

from typing import Annotated

import msgspec

from tinygram.strategies import Strategy
from tinygram_bench.host.network.connections import Known
from tinygram_bench.host.probes.kernel import CounterFds
from tinygram_bench.loads.source import BURST_MESSAGES
from tinygram_bench.model.value import Value
from tinygram_bench.runs.slices import Slices
from tinygram_bench.tls.certificates import Identity

Time = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""A time of CLOCK_MONOTONIC, in ns."""


class ReceiverOrder(Value, frozen=True):
    """The order of one stream for a receiver of ours, which answers with its counters.

    `notes_fd`, `turns_fd`: the files that it writes (receiver.py). For how it meets the sender, see
    `Order`. `may_end_early`: the stream may end after any message. `tls`: the identity with which
    it decrypts; it then answers `Arrived` when the warm-up has arrived; None: nothing is encrypted.
    `connections`: on how many the stream comes.
    """

    messages: int
    warm_up: int
    min_bytes: int
    max_bytes: int
    seed: int
    receive_buffer_bytes: int
    congestion_control: str
    producers: int
    notes_fd: int
    turns_fd: int
    host: str
    port: int = 0
    client: Known = Known()
    may_end_early: bool = False
    tls: Identity | None = None
    connections: int = 1

    @property
    def listens(self) -> bool:
        """Whether the sender connects to this end."""
        return self.port == 0


class Heard(Value, frozen=True):
    """What the receiver left: a note for each read, and with several producers the turns.

    On many connections there is a note for each read that ended a message, and turns, too.
    `bound_ns`: by how much the notes' times may be wrong beside the sender's; 0: one clock took
    both.
    """

    notes: bytes
    turns: bytes
    bound_ns: int = 0


class Pace(Value, frozen=True):
    """A schedule's parameters; both sides make the same schedule from them.

    `sleeps`: the pacer does not spin, and the report has how late it was with each message.
    """

    rate_per_s: float
    arrival: str
    burst: int
    duration_ns: int
    seed: int
    sleeps: bool = False


class Warm(Value, frozen=True):
    """A sender's answer when it has warmed up: the pids of what sends, whose CPU time counts."""

    pids: tuple[int, ...]


class Order(Value, frozen=True):
    """The order for a sending process.

    `spin_ns`, `sleep_ns`: a planted difference (loads/planted.py).
    `host`, `port`: where the other end listens; with port 0 this end listens on `host`, and answers
    its port. `client`: how connections of the end that connects are known. `counter_fds`: where the
    kernel's counters are read (probes/kernel.py). `report_fd`: the file in which it leaves its
    `Report`. With `slices` the sender answers `Warm` when it has warmed up, and waits for a
    `Start`. `pushes_out`: Nagle's algorithm withholds nothing between slices. `certificate`: the
    one that its receiver must show; it is then told `Arrived` when the warm-up has arrived; None:
    nothing is encrypted.
    """

    port: int
    runtime: str
    implementation: str
    strategy: Strategy
    seed: int
    min_bytes: int
    max_bytes: int
    messages: int
    warm_up: int
    pace: Pace | None
    congestion_control: str
    counter_fds: CounterFds
    producers: int = 1
    has_busy_thread: bool = False
    flat_out_burst: int = BURST_MESSAGES
    spin_ns: int = 0
    sleep_ns: int = 0
    host: str = "127.0.0.1"
    client: Known = Known()
    report_fd: int = -1
    slices: Slices | None = None
    pushes_out: bool = False
    certificate: str | None = None
    connections: int = 1

    @property
    def listens(self) -> bool:
        """Whether the receiver connects to this end."""
        return self.port == 0

    @property
    def has_turns(self) -> bool:
        """Whether the receiver says whose each message was: a producer's, or a connection's."""
        return self.producers > 1 or self.connections > 1

    @property
    def ends_with_slices(self) -> bool:
        """Whether the stream ends when its slices are over, and not after `messages`."""
        return self.slices is not None and self.pace is None


class Report(Value, frozen=True):
    """The report of a sending process: raw counters, times and histograms.

    It may be longer than a line between two hosts is allowed to be, so it comes in a file.
    `peer_port`: that of the end that connected. `late_ns`: how late the pacer was with each
    message, where it sleeps. `handed_over`: how many of the measured messages each producer has
    handed over, where the stream ends with its slices. `pacing_errors_ns_by_slice`: how late the
    pacer was with each message that is measured in a slice; empty without slices.
    """

    peer_port: int
    start_ns: Time
    hand_overs_ns: list[Time]
    counters: dict[str, int | None]
    histograms: dict[str, str]
    late_ns: tuple[int, ...] = ()
    spin_cpu_ns_by_slice: tuple[int, ...] = ()
    pacing_errors_ns_by_slice: tuple[tuple[int, ...], ...] = ()
    handed_over: tuple[int, ...] = ()
