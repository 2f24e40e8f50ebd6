"""The client's process, `tg-client`: connects, warms up, exchanges messages natively, and reports.

It reads a `ClientOrder` from stdin and writes a `Report` to stdout, both JSON (order.py).
"""

from __future__ import annotations

import sys

import msgspec

from tinygram_bench import _native
from tinygram_bench.host.probes.far_ends import congestion_controls
from tinygram_bench.host.probes.kernel import counted_between, counters_here
from tinygram_bench.processes.attached import settle
from tinygram_bench.workloads.echo.marks import marks_of, rested, since
from tinygram_bench.workloads.echo.order import ClientOrder, Report

_CONNECT_LIMIT_NS = 10_000_000_000
_PATIENCE_NS = 1_000_000_000
"""A server that does not end when the client has ended is not waited for any longer."""


def main() -> int:
    """Exchange messages; a failure is the last line on stderr and exit status 1."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=ClientOrder)
    settle("tg-client", order.parent_pid, order.cpu)
    try:
        report = _exchange(order)
    except (OSError, MemoryError) as failure:
        print(failure, file=sys.stderr)
        return 1
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    sys.stdout.buffer.flush()
    return 0


def _exchange(order: ClientOrder) -> Report:
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
        order.own_host,
    )
    marks = marks_of(order.channel_fd, order.session_pid)
    client.run(order.warm_up, None, order.timeout_ns)
    controls = congestion_controls(order.port, order.diag_fd)
    kernel_before = counters_here(order.counter_fds)
    warm_up_bytes = order.warm_up * order.message_bytes
    before = rested(marks, warm_up_bytes)
    found = dict(client.run(order.messages, order.duration_ns, order.timeout_ns))
    start_ns = found.pop("start_ns")
    counters: dict[str, int | None] = {**found}
    after = rested(marks, warm_up_bytes + found["messages"] * order.message_bytes)
    counters |= since(before, after)
    if "strangers" in after:
        counters["strangers"] = after["strangers"]
    kernel_after = counters_here(order.counter_fds)
    counters |= counted_between(kernel_before, kernel_after)
    if not order.trusts:
        client.finish(_PATIENCE_NS)
    connects_ns = client.connects_ns()
    counters |= {
        "connect_ns": sum(connects_ns) // len(connects_ns),
        "connect_max_ns": max(connects_ns),
    }
    round_trips = {"round_trip_ns": client.round_trips().to_base64()}
    return Report(start_ns, counters, round_trips, client.fault(), controls)


if __name__ == "__main__":
    sys.exit(main())
