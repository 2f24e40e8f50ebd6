"""The orders to the two processes of `fanout`, and their reports: lines of JSON."""

from __future__ import annotations

from typing import Annotated

import msgspec

from tinygram.strategies import Strategy
from tinygram_bench.host.network.connections import Known
from tinygram_bench.hosts.difference import Difference
from tinygram_bench.model.value import Value
from tinygram_bench.runs.slice_figures import Values
from tinygram_bench.runs.slices import Slices

LEAST_BYTES = 16
"""The shortest message: it has its number and its time."""
MOST_BYTES = 1 << 20
"""The longest message."""
WARM_UP = 8
"""How many publications precede the measured ones."""


class Pace(Value, frozen=True):
    """When publications are due: a schedule's parameters."""

    rate_per_s: float
    arrival: str
    duration_ns: int
    seed: int


class SubscribersOrder(Value, frozen=True):
    """The order for the subscribers. `client`: how the publisher's connections are known.

    `report_fd`: the file in which they leave what they have `Heard`, which may come near the
    longest line that two hosts may send each other.
    """

    report_fd: int
    subscribers: int
    message_bytes: int
    seed: int
    congestion_control: str
    host: str
    timeout_ns: int
    client: Known = Known()


class PublisherOrder(Value, frozen=True):
    """The order for the publisher.

    `server`: what the publisher calls to write. `burst`: publications at a time. `pace` None: it
    publishes as soon as the last ones were handed over. `patience_ns`: how long a subscriber may
    take nothing. `client`: how its connections are known.
    """

    host: str
    port: int
    runtime: str
    implementation: str
    server: str
    strategy: Strategy
    subscribers: int
    message_bytes: int
    seed: int
    burst: int
    pace: Pace | None
    patience_ns: int
    congestion_control: str
    client: Known = Known()

    @property
    def native_pace(self) -> tuple[float, str, int, int, int] | None:
        """The pace as native code takes it."""
        pace = self.pace
        if pace is None:
            return None
        return pace.rate_per_s, pace.arrival, self.burst, pace.duration_ns, pace.seed


class Warm(Value, frozen=True):
    """The publisher's answer when it has warmed up, with the time that a publication takes."""

    publication_ns: int


class Begin(Value, frozen=True):
    """The order to both ends, when all are ready: the slices, and when the first cycle begins.

    `at_ns`: CLOCK_MONOTONIC of the publisher. `give_up_ns`: how long after `at_ns` the subscribers
    wait at most. `difference`: of the subscribers' clock and that one; None: they are one clock.
    `is_alone`: the case has one slice, and needs no figures of it.
    """

    at_ns: int
    slices: Slices
    give_up_ns: int
    difference: Difference | None = None
    is_alone: bool = False


class Report(Value, frozen=True):
    """The publisher's report: raw counters, None where not known."""

    publications: int
    counters: dict[str, int | None]


Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class Heard(Value, frozen=True):
    """What came to the subscribers: counters, histograms, and figures of slices.

    `messages`, `all_messages`, `last_ns`: for each slice, how many came in its middle, how many
    were due in it altogether, and when the last of these came, in ns of the publisher's clock.
    """

    counters: dict[str, Count]
    histograms: dict[str, str]
    messages: tuple[Count, ...]
    all_messages: tuple[Count, ...]
    last_ns: tuple[Count, ...]
    figures: dict[str, Values]
