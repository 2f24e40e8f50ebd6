"""The orders and reports between the bench and the processes of `sizes`."""

from __future__ import annotations

from tinygram_bench.model.value import Value


class ServerOrder(Value, frozen=True):
    """The order for the server: how many samples come, and how many bytes the largest has.

    `client_host`: where its clients connect from, null: anywhere.
    """

    samples: int
    sample_bytes: int
    seed: int
    congestion_control: str
    host: str
    client_host: str | None


class Order(Value, frozen=True):
    """The order for the client.

    `part`: null for samples, or the local part that is timed instead; `far_cpu`: the core of the
    thread at the far end, for the part that has one. `address` is IPv4:PORT, `timeout_ns` for each
    connect, write and acknowledgement. `own_host`: the address to connect from, null: the kernel
    picks one.
    """

    part: str | None
    far_cpu: int | None
    address: str
    message_bytes: int
    round_trips: int
    is_setup_joined: bool
    strategy: str
    congestion_control: str
    seed: int
    timeout_ns: int
    first_samples: int
    samples: int
    own_host: str | None = None


class Report(Value, frozen=True):
    """The client's report: raw counters and histograms.

    `start_ns`: when the samples began, CLOCK_MONOTONIC; 0 for a local part.
    """

    counters: dict[str, int]
    histograms: dict[str, str]
    start_ns: int
