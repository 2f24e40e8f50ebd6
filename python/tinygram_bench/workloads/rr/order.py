"""The orders and reports between the bench and the processes of `rr`."""

from __future__ import annotations

from tinygram_bench.model.value import Value


class ServerOrder(Value, frozen=True):
    """The order for the server. `seed` null: it takes any bytes for requests.

    `client_host`: where its clients connect from, null: anywhere.
    """

    runtime: str
    port: int
    request_bytes: int
    reply_bytes: int
    seed: int | None
    backlog: int
    strategy: str
    has_quickack: bool
    congestion_control: str
    host: str = "127.0.0.1"
    client_host: str | None = None


class CallOrder(Value, frozen=True):
    """The order for a process of callers.

    `depth`: requests in flight on a shared connection. `checks_replies`: whether the bytes of a
    reply are compared, or any will do. `own_host`: the address to connect from, null: the kernel
    picks one.
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
    own_host: str | None = None

    @property
    def is_nodelay(self) -> bool:
        return self.strategy == "nodelay"


class Start(Value, frozen=True):
    """When callers call: none begins after `end_ns`, nor after `calls` of each (null: no limit)."""

    start_ns: int
    end_ns: int
    calls: int | None


class Report(Value, frozen=True):
    """The report of a process of callers: raw counters (`last_ns` is a time) and histograms."""

    counters: dict[str, int]
    histograms: dict[str, str]
