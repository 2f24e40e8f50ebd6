"""The sending process, `tg-sender`: it meets the receiver, warms up, sends in one way, and reports.

It takes an `Order` for each stream, leaves a `Report` in its file (order.py), and answers `End`.
Start-up, the message pool, connecting and the warm-up come before the clock starts.
"""

from __future__ import annotations

import gc
import os
import socket
import time
from typing import TYPE_CHECKING

import msgspec

from tinygram_bench import _native
from tinygram_bench.loads.source import Source, message_pool
from tinygram_bench.processes.orders import End, Orders, Start, carry_out, leave
from tinygram_bench.ways import runtimes
from tinygram_bench.ways.runtimes import Way
from tinygram_bench.workloads.stream.meeting import met
from tinygram_bench.workloads.stream.order import Order, Report, Warm
from tinygram_bench.workloads.stream.sending.counting import Counting, WarmUp
from tinygram_bench.workloads.stream.sending.messages import source_of
from tinygram_bench.workloads.stream.sending.pacing import (
    errors_by_slice_ns,
    late_ns,
    pacing_counters,
    pacing_errors,
    spun_by_slice,
)

if TYPE_CHECKING:
    import ssl


def main() -> int:
    """Send a stream for each order."""
    # Measured now, since waiting for the first order is no part of starting up.
    start_up_ns = [time.monotonic_ns() - _started_ns()]

    def send(order: Order, orders: Orders) -> None:
        spent_ns = start_up_ns.pop() if start_up_ns else 0
        report = _send(order, time.monotonic_ns() - spent_ns, orders)
        leave(order.report_fd, msgspec.json.encode(report))
        orders.say(End())

    return carry_out("tg-sender", Order, send)


def _send(order: Order, begun_ns: int, orders: Orders) -> Report:
    runtime = runtimes.runtime(
        *(order.runtime, order.implementation, order.strategy, order.connections),
        tls=order.certificate is not None,
    )
    run = runtime.load()
    ends = met(order, orders.announce)
    # A second descriptor, because a runtime may close its own before we have read the counters. For
    # many connections there are no descriptors to spare: a way calls back before it ends those.
    probes = ends.sockets if order.connections > 1 else [ends.sockets[0].dup()]
    way = _way_of(order, ends.sockets, probes)
    way.watch_writes()
    # Called before the first thread that sends: existing threads would not be counted.
    _native.count_instructions()
    pool = message_pool(
        order.seed, order.min_bytes, order.max_bytes, order.producers, order.connections
    )
    counting = Counting(order, way, probes)
    way.on_handed_over = counting.end
    warm_up = WarmUp(pool.stream_bytes(order.warm_up), way, probes, orders)

    def on_start() -> int | None:
        way.on_start()
        start_ns = None if order.slices is None else _start_told(way, orders)
        counting.start()
        return start_ns

    source = source_of(
        order,
        pool,
        warm_up.has_arrived,
        on_start,
        hold_ns=way.strategy.duration_ns or 0,
        push_out_fd=probes[0].fileno() if order.pushes_out else None,
    )
    gc.collect()
    gc.freeze()
    startup_ns = time.monotonic_ns() - begun_ns
    run(_encrypted(ends.sockets[0], runtime, way), source, way)
    if order.connections == 1:
        counting.end()
    counters = {**counting.counters, **ends.counters, "startup_ns": startup_ns}
    return _report(order, way, source, counting.peer_port, counters)


def _way_of(order: Order, sockets: list[socket.socket], probes: list[socket.socket]) -> Way:
    fds = [probe.fileno() for probe in probes]
    return Way(
        order.runtime,
        order.strategy,
        order.pace is None,
        tls=_tls_context(order.certificate),
        watch_writes=lambda: _native.watch_writes(fds),
        implementation=order.implementation,
        sockets=sockets,
    )


def _start_told(way: Way, orders: Orders) -> int:
    """When the first slice begins, CLOCK_MONOTONIC in ns; the bench says it once this end is warm.

    Raises EOFError when the bench has ended.
    """
    orders.say(Warm((os.getpid(), *way.child_pids)))
    start = orders.hear(Start)
    if start is None:
        raise EOFError("the bench has ended")
    return start.at_ns


def _report(
    order: Order, way: Way, source: Source, peer_port: int, counters: dict[str, int | None]
) -> Report:
    pacing = pacing_counters(source)
    counters |= pacing
    own_cpu_ns = (counters["cpu_ns"] or 0) - (counters["busy_thread_cpu_ns"] or 0)
    counters["cpu_ns"] = own_cpu_ns - pacing.get("pacer_spin_cpu_ns", 0)
    if order.pace is not None:  # The pacer spins for as long as there is time.
        counters["instructions"] = None
    holds = way.holds()
    histograms = {
        "pacing_error_ns": pacing_errors(source),
        "hold_ns": holds if holds.count else None,
    }
    return Report(
        peer_port=peer_port,
        start_ns=source.start_ns or 0,
        hand_overs_ns=[
            *source.hand_overs_ns,
            *(at_ns for share in source.shares for at_ns in share.hand_overs_ns),
        ],
        counters=counters,
        histograms={
            name: each.to_base64() for name, each in histograms.items() if each is not None
        },
        late_ns=late_ns(source) if order.pace is not None and order.pace.sleeps else (),
        spin_cpu_ns_by_slice=spun_by_slice(source),
        pacing_errors_ns_by_slice=errors_by_slice_ns(source),
        handed_over=source.handed_over() if order.ends_with_slices else (),
    )


def _tls_context(certificate: str | None) -> ssl.SSLContext | None:
    """Imported only here: this takes a while, and most senders do not encrypt. Raises SSLError."""
    if certificate is None:
        return None
    from tinygram_bench.tls.contexts import client_context

    return client_context(certificate)


def _encrypted(sock: socket.socket, runtime: runtimes.Runtime, way: Way) -> socket.socket:
    """The socket on which the way sends, after the handshake if the socket or kernel encrypts."""
    if way.tls is None or runtime.tls_by not in ("socket", "kernel"):
        return sock
    assert way.server_name is not None, "there is TLS"
    # The modules below are imported only where something is encrypted.
    if runtime.tls_by == "kernel":
        from tinygram_bench.tls import in_kernel

        return in_kernel.connected(sock, way.tls, way.server_name)
    from tinygram_bench.tls.contexts import check_agreed

    wrapped = way.tls.wrap_socket(sock, server_hostname=way.server_name)
    check_agreed(wrapped)
    return wrapped


def _started_ns() -> int:
    """When this process was started, CLOCK_MONOTONIC (field 22 of proc_pid_stat(5), in ticks)."""
    with open("/proc/self/stat") as stat:
        ticks = int(stat.read().rpartition(")")[2].split()[19])
    since_boot_ns = ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    suspended_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
    return since_boot_ns - suspended_ns
