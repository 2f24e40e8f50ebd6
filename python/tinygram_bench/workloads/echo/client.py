"""The client's process, `tg-client`: connects, warms up, exchanges messages natively, and reports.

For each `ClientOrder` it answers `Ready`, takes a `Go`, answers a `Report` (order.py), takes an
`End`, ends its connections and answers `End`. In slices it takes a `Start` before the `Go`, sleeps
between slices, and answers `Ready` again when they are over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygram_bench import _native
from tinygram_bench.processes.orders import End, Go, Orders, Ready, Start, carry_out
from tinygram_bench.workloads.echo.order import ClientOrder, Report
from tinygram_bench.workloads.echo.slices import found_in_slices

if TYPE_CHECKING:
    from tinygram_bench.workloads.echo.encrypted import EncryptedConnections

_CONNECT_LIMIT_NS = 10_000_000_000
_PATIENCE_NS = 1_000_000_000
"""How long the client waits for the server's end after its own."""


def main() -> int:
    return carry_out("tg-client", ClientOrder, _exchange)


def _exchange(order: ClientOrder, orders: Orders) -> None:
    encrypted = _encrypted(order.certificate)
    client = _native.EchoClient(
        order.host,
        order.port,
        order.seed,
        order.message_bytes,
        order.workers,
        order.depth,
        order.congestion_control,
        _CONNECT_LIMIT_NS,
        order.trusts,
        order.polls,
        order.client.admission,
        None if encrypted is None else encrypted.encrypt,
    )
    client.run(order.warm_up, None, order.timeout_ns)
    warm_up_records = 0 if encrypted is None else encrypted.records
    pace = order.pace
    if pace is not None:
        client.keep_to(pace.rate_per_s, pace.arrival, order.own_ns or 0, pace.seed)
    orders.say(Ready())
    in_slices = None
    if order.slices is None:
        if orders.hear(Go) is None:
            return
        client.run(order.messages, order.duration_ns, order.timeout_ns)
    else:
        start = orders.hear(Start)
        if start is None:
            return
        slices = order.slices
        client.run_in_slices(slices.native, slices.open_ns, start.at_ns, order.timeout_ns)
        orders.say(Ready())
        # Adding up now would take time from the last slices of the other cases.
        if orders.hear(Go) is None:
            return
        in_slices = found_in_slices(client, order)
    counters = dict(client.counters())
    start_ns = counters.pop("start_ns")
    if in_slices is None:
        del counters["middle_messages"]  # All messages are measured.
    connects_ns = client.connects_ns()
    counters |= {
        "connect_ns": sum(connects_ns) // len(connects_ns),
        "connect_max_ns": max(connects_ns),
    }
    if encrypted is not None:
        counters["tls_records"] = encrypted.records - warm_up_records
    histograms = {"round_trip_ns": client.round_trips().to_base64()}
    if pace is not None:
        histograms["start_delay_ns"] = client.start_delays().to_base64()
    orders.say(Report(start_ns, counters, histograms, client.fault(), in_slices))
    if orders.hear(End) is None:
        return
    if not order.trusts:
        client.finish(_PATIENCE_NS)
    orders.say(End())


def _encrypted(certificate: str | None) -> EncryptedConnections | None:
    """Imported only here: this takes a while, and most clients do not encrypt. Raises SSLError."""
    if certificate is None:
        return None
    from tinygram_bench.workloads.echo.encrypted import EncryptedConnections

    return EncryptedConnections(certificate)
