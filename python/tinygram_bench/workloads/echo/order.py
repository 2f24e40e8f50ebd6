"""The orders and reports between the bench, a server under test and the client: lines of JSON."""

from __future__ import annotations

from tinygram.strategies import Strategy
from tinygram_bench.host.network.connections import Known
from tinygram_bench.model.value import Value
from tinygram_bench.runs.slice_figures import Values
from tinygram_bench.runs.slices import Slices
from tinygram_bench.tls.certificates import Identity

PER_READ = "per-read"
PER_MESSAGE = "per-message"
REPLIES = (PER_READ, PER_MESSAGE)

WHOLE_BUFFER = "whole-buffer"
"""The fault of a server that was published as a fast one: it sends its whole buffer, however little
was read into it."""
FAULTS = (WHOLE_BUFFER,)


class ServerOrder(Value, frozen=True):
    """The order for a server of ours. `buffer_bytes`: the most per read, where that can be set.

    `client`: how connections of its client are known. `tls`: the identity with which it encrypts;
    None: it does not encrypt.
    """

    runtime: str
    implementation: str
    server: str
    strategy: Strategy
    reply: str
    message_bytes: int
    buffer_bytes: int
    fault: str | None
    connections: int
    congestion_control: str
    host: str = "127.0.0.1"
    client: Known = Known()
    tls: Identity | None = None


class Pace(Value, frozen=True):
    """When messages are due: `rate_per_s` of all workers together, in turn."""

    rate_per_s: float
    arrival: str
    seed: int


class ClientOrder(Value, frozen=True):
    """The order for the client.

    `messages` or `duration_ns`: when the run ends; `warm_up`: how many messages precede it.
    `trusts`: the client takes what comes back as right, and only reports what its check finds.
    `polls`: its core is its own, and before it sleeps it polls for a while. `client`: how its
    connections are known. With `slices` it waits for a `Start` in place of the `Go`, which comes
    when the slices of all cases are over. `certificate`: the one that the server must show; None:
    nothing is encrypted. `pace`: when messages are due; None: each is sent when one has come back.
    """

    host: str
    port: int
    seed: int
    message_bytes: int
    workers: int
    depth: int
    warm_up: int
    messages: int | None
    duration_ns: int | None
    timeout_ns: int
    trusts: bool
    polls: bool
    congestion_control: str
    client: Known = Known()
    slices: Slices | None = None
    certificate: str | None = None
    pace: Pace | None = None

    @property
    def own_ns(self) -> int | None:
        """How long the case's own time is, in ns; None: until so many messages came back."""
        return self.duration_ns if self.slices is None else self.slices.own_ns


class InSlices(Value, frozen=True):
    """What the client found slice by slice.

    `messages`, `time_ns`: what it counted, and in which time; `all_messages`: including those that
    came while the slice settled, or later; `last_ns`: its last read, in ns of CLOCK_MONOTONIC.
    `figures`: figure → its value in each slice or block of slices.
    """

    messages: tuple[int, ...]
    time_ns: tuple[int, ...]
    all_messages: tuple[int, ...]
    last_ns: tuple[int, ...]
    figures: dict[str, Values]


class Report(Value, frozen=True):
    """The client's report: raw counters, histograms, and the first fault overlooked if it `trusts`.

    `start_ns`: when the measured part began. For slices, the counters have what was measured in
    their middles, except `messages`, which counts all that came back.
    """

    start_ns: int
    counters: dict[str, int]
    histograms: dict[str, str]
    fault: str | None
    in_slices: InSlices | None = None
