"""The orders and reports between the bench and the processes of `sizes`."""

from __future__ import annotations

from tinygram_bench.host.network.connections import Known
from tinygram_bench.model.value import Value


class ServerOrder(Value, frozen=True):
    """The order for the server: the number of ports, one for each case, and the largest sample.

    `client`: how its client's connections are known.
    """

    ports: int
    sample_bytes: int
    seed: int
    congestion_control: str
    host: str
    client: Known = Known()


class Cell(Value, frozen=True):
    """What the samples of a case have in common. `address`: IP:PORT of the case's server."""

    address: str
    message_bytes: int
    round_trips: int
    is_setup_joined: bool
    strategy: str


class Order(Value, frozen=True):
    """The order for the client.

    `part`: None for samples, or the local part that is timed instead; `far_cpu`: the core of the
    thread at the far end, for parts that have one. `cells`: one, or several whose samples
    alternate, in cycles whose orders come from `order_seed`. `timeout_ns`: for each connect, write
    and acknowledgement. `client`: how its connections are known.
    """

    part: str | None
    far_cpu: int | None
    cells: tuple[Cell, ...]
    congestion_control: str
    seed: int
    order_seed: int
    timeout_ns: int
    first_samples: int
    samples: int
    client: Known = Known()


class Report(Value, frozen=True):
    """The client's report on a cell or a local part: raw counters and histograms.

    `start_ns`: when the samples began, CLOCK_MONOTONIC; 0 for a local part. `totals_us`: the time
    of the cell's sample in each cycle, or the medians of cycles in a row. `failure`: what failed in
    which sample; then everything else is empty.
    """

    counters: dict[str, int]
    histograms: dict[str, str]
    start_ns: int
    totals_us: tuple[float, ...] = ()
    failure: str | None = None
