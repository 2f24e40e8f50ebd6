"""The orders and reports between the bench and the processes of `rr`."""

from __future__ import annotations

from typing import NamedTuple

from tinygram_bench._native import CallBook
from tinygram_bench.host.network.connections import Known
from tinygram_bench.model.value import Value
from tinygram_bench.runs.slices import Slices
from tinygram_bench.tls.certificates import Identity


class ServerOrder(Value, frozen=True):
    """The order for the server. `seed` None: it takes any bytes as requests.

    `connections`: the most that its clients have at a time. `client`: how their connections are
    known. `tls`: the identity with which it decrypts; None: nothing is encrypted. It counts records
    only after it has answered `uncounted_requests`.
    """

    runtime: str
    request_bytes: int
    reply_bytes: int
    seed: int | None
    backlog: int
    strategy: str
    has_quickack: bool
    congestion_control: str
    host: str = "127.0.0.1"
    client: Known = Known()
    tls: Identity | None = None
    uncounted_requests: int = 0
    connections: int = 0


class CallOrder(Value, frozen=True):
    """The order for a process of callers.

    `depth`: requests in flight on a shared connection. `checks_replies`: whether the bytes of a
    reply are compared, or any will do. `client`: how its connections are known. `certificate`: the
    one that the server must show; None: nothing is encrypted. `is_at_a_rate`: a `Pace` follows the
    warm-up; otherwise callers call again and again.
    """

    host: str
    port: int
    runtime: str
    callers: int
    connections: str
    depth: int
    sends_per_request: int
    strategy: str
    request_bytes: int
    reply_bytes: int
    checks_replies: bool
    seed: int
    warm_up_calls: int
    congestion_control: str
    give_up_ns: int
    client: Known = Known()
    certificate: str | None = None
    implementation: str = "stdlib"
    is_at_a_rate: bool = False

    @property
    def is_nodelay(self) -> bool:
        return self.strategy != "nagle"


class CallTimes(NamedTuple):
    """When a call began to connect, if it had to, and to send; and when its reply was whole."""

    called_ns: int
    begun_ns: int
    ended_ns: int


class Span(Value, frozen=True):
    """When callers call: no call begins after `end_ns`, nor after `calls` of each (None: no limit).

    Times are CLOCK_MONOTONIC. `settled_ns`: in a slice, calls that begin from then on are measured.
    `own_ns`: how much of the case's own time is over at the start: it stands still between slices.
    """

    start_ns: int
    end_ns: int
    calls: int | None = None
    settled_ns: int | None = None
    own_ns: int = 0

    @property
    def native(self) -> tuple[int, int | None, int, int | None, int]:
        """The span as native callers take it."""
        return self.start_ns, self.settled_ns, self.end_ns, self.calls, self.own_ns

    def is_open_at(self, at_ns: int) -> bool:
        """Whether a call that has come due may be begun then; in an empty span none may."""
        return self.start_ns < self.end_ns and at_ns < self.end_ns + CallBook.LATE_NS

    def at_ns(self, own_ns: int) -> int:
        """When a moment of the case's own time comes; of an earlier slice, before the start."""
        return self.start_ns + own_ns - self.own_ns


class Pace(Value, frozen=True):
    """When calls are due: `rate_per_s` by the callers of all processes together.

    `duration_ns`: how long the case's own time is. `share`: the number of the process, and how many
    processes there are; calls are theirs in turn.
    """

    rate_per_s: float
    arrival: str
    duration_ns: int
    seed: int
    share: tuple[int, int]

    def book(self, callers: int) -> CallBook:
        """When the calls of this process are due, which has so many callers."""
        return CallBook(
            self.rate_per_s, self.arrival, self.duration_ns, self.seed, self.share, callers
        )


class Start(Value, frozen=True):
    """The spans in which callers call: one, or a slice each and then an empty one."""

    spans: tuple[Span, ...]

    @property
    def start_ns(self) -> int:
        return self.spans[0].start_ns

    @property
    def native(self) -> list[tuple[int, int | None, int, int | None, int]]:
        """The spans as they are added up natively, and as native callers take them."""
        return [span.native for span in self.spans]

    @property
    def slices(self) -> tuple[Span, ...]:
        """The spans that are slices."""
        return tuple(span for span in self.spans if span.settled_ns is not None)

    @classmethod
    def in_slices(cls, start_ns: int, slices: Slices) -> Start:
        """The spans of these slices, whose first cycle begins at `start_ns`.

        Nobody calls in the last span, which begins when the slices of all cases are over: callers
        wait for it, so that none ends while others have turns.
        """
        begins_ns = [start_ns + begin_ns for begin_ns in slices.begins_ns]
        of_slices = [
            Span(
                begin,
                begin + slices.slice_ns,
                settled_ns=begin + slices.settling_ns,
                own_ns=number * slices.slice_ns,
            )
            for number, begin in enumerate(begins_ns)
        ]
        over_ns = start_ns + slices.over_ns
        over = Span(over_ns, over_ns, calls=0, own_ns=slices.own_ns)
        return cls((*of_slices, over))


class Warm(Value, frozen=True):
    """A process of callers has warmed up; a call took about `call_ns`, 0: not known."""

    call_ns: int


class SliceTally(Value, frozen=True):
    """What callers found in a slice.

    `calls_ns`: how long each call took that began after the slice had settled, in ns.
    `callers_time_ns`: the sum of each caller's time from its first such call to the end of its
    last. `last_ns`: when the last call of the slice ended, whenever it began; `calls`: how many
    calls there were, whenever they began.
    """

    calls_ns: list[int]
    callers_time_ns: int
    last_ns: int
    calls: int


class Report(Value, frozen=True):
    """The report of a process of callers: raw counters (`last_ns` is a time) and histograms."""

    counters: dict[str, int]
    histograms: dict[str, str]
    slices: tuple[SliceTally, ...] = ()
