"""The sending process, `tg-sender`: it meets the receiver, warms up, sends in one way, and reports.

It takes an `Order` for each stream, leaves a `Report` in its file (order.py), and answers `End`.
Start-up, the message pool, connecting and the warm-up come before the clock starts.
"""

from __future__ import annotations

import gc
import operator
import os
import socket
import time
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from tinygram_bench import _native
from tinygram_bench.host.probes.usage import Mark, segments_since
from tinygram_bench.loads.openings import Openings
from tinygram_bench.loads.planted import PlantedSource
from tinygram_bench.loads.source import Share, Source, message_pool
from tinygram_bench.processes.orders import Arrived, End, Orders, Start, carry_out, leave
from tinygram_bench.ways import runtimes
from tinygram_bench.workloads.stream.busy_thread import BusyThread
from tinygram_bench.workloads.stream.meeting import connecting_port, met
from tinygram_bench.workloads.stream.order import Order, Report, Warm

if TYPE_CHECKING:
    import ssl

_DELIVERY_LIMIT_S = 10.0


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
    strategy = order.strategy
    runtime = runtimes.runtime(
        *(order.runtime, order.implementation, strategy, order.connections),
        tls=order.certificate is not None,
    )
    run = runtime.load()
    ends = met(order, orders.announce)
    sockets = ends.sockets
    sock = sockets[0]
    # A second descriptor, because a runtime may close its own before we have read the counters. For
    # many connections there are no descriptors to spare: a way calls back before it ends those.
    probes = sockets if order.connections > 1 else [sock.dup()]
    fds = [probe.fileno() for probe in probes]
    way = runtimes.Way(
        order.runtime,
        strategy,
        order.pace is None,
        tls=_tls_context(order.certificate),
        watch_writes=lambda: _native.watch_writes(fds),
        implementation=order.implementation,
        sockets=sockets,
    )
    way.watch_writes()
    # Called before the first thread that sends: existing threads would not be counted.
    _native.count_instructions()
    pool = message_pool(
        order.seed, order.min_bytes, order.max_bytes, order.producers, order.connections
    )
    busy = BusyThread() if order.has_busy_thread else None
    warm_up_bytes = pool.stream_bytes(order.warm_up)
    counts_before = _native.write_counts()
    marks: list[Mark] = []
    own_calls: list[tuple[int, int] | None] = []
    found: dict[str, int | None] = {}

    def take_end() -> None:
        busy_cpu_ns = 0 if busy is None else busy.stop()
        end = Mark.at_end(probes, way.child_pids, order.counter_fds)
        for probe in probes:
            _wait_delivered(probe)
        found.update(end.since(marks[0]) | segments_since(marks[0], probes, order.counter_fds))
        if way.own_calls is not None and own_calls[0] is not None:
            writes, would_block = map(operator.sub, way.own_calls(), own_calls[0])
            found.update(writes=writes, would_block=would_block, written_bytes=None)
        found["busy_thread_cpu_ns"] = busy_cpu_ns
        found["send_buffer_bytes"] = probes[0].getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        ports.append(connecting_port(order, probes[0]))
        if order.connections == 1:
            probes[0].shutdown(socket.SHUT_WR)
            probes[0].close()

    ports: list[int] = []
    way.on_handed_over = take_end

    def has_arrived() -> bool:
        if way.tls is not None:
            return orders.has_line() and orders.hear(Arrived) is not None
        counts = _native.write_counts()
        is_written = (
            way.own_calls is not None
            or counts is None
            or counts_before is None
            or counts[1] - counts_before[1] >= warm_up_bytes
        )
        return is_written and all(map(_is_delivered, probes))

    def on_start() -> int | None:
        way.on_start()
        start_ns = None
        if order.slices is not None:
            orders.say(Warm((os.getpid(), *way.child_pids)))
            start = orders.hear(Start)
            if start is None:
                raise EOFError("the bench has ended")
            start_ns = start.at_ns
        own_calls.append(None if way.own_calls is None else way.own_calls())
        marks.append(Mark.at_start(probes, way.child_pids, order.counter_fds))
        # Started after the first mark and ended before the second, so that all its CPU time is
        # between.
        if busy is not None:
            busy.start()
        return start_ns

    push_out_fd = probes[0].fileno() if order.pushes_out else None
    source = _source_of(order)(
        pool,
        order.warm_up,
        order.messages,
        None if order.producers > 1 else _pacer(order, push_out_fd=push_out_fd),
        has_arrived,
        on_start,
        way.strategy.duration_ns or 0,
        _shares(order, pool),
        order.flat_out_burst,
        None if order.producers > 1 else _openings(order),
        0 if order.slices is None else order.slices.over_ns,
    )
    gc.collect()
    gc.freeze()
    startup_ns = time.monotonic_ns() - begun_ns
    run(_encrypted(sock, runtime, way), source, way)
    if order.connections == 1:
        take_end()
    counters = {**found, **ends.counters, "startup_ns": startup_ns}
    used_cpu_ns = (counters["cpu_ns"] or 0) - (counters["busy_thread_cpu_ns"] or 0)
    if order.pace is not None:  # The pacer spins for as long as there is time.
        counters["instructions"] = None
    histograms = {}
    if pacers := source.pacers():
        spin_cpu_ns = sum(pacer.spin_cpu_ns for pacer in pacers)
        used_cpu_ns -= spin_cpu_ns
        counters["pacer_spin_cpu_ns"] = spin_cpu_ns
        counters["releases"] = sum(pacer.releases for pacer in pacers)
        counters["last_due_ns"] = max(pacer.last_due_ns for pacer in pacers)
        errors = pacers[0].errors()
        for pacer in pacers[1:]:
            errors.merge(pacer.errors())
        histograms["pacing_error_ns"] = errors.to_base64()
    counters["cpu_ns"] = used_cpu_ns
    holds = way.holds()
    if holds.count:
        histograms["hold_ns"] = holds.to_base64()
    return Report(
        peer_port=ports[0],
        start_ns=source.start_ns or 0,
        hand_overs_ns=[
            *source.hand_overs_ns,
            *(at_ns for share in source.shares for at_ns in share.hand_overs_ns),
        ],
        counters=counters,
        histograms=histograms,
        late_ns=_late_ns(source) if order.pace is not None and order.pace.sleeps else (),
        spin_cpu_ns_by_slice=_spun_by_slice(source),
        pacing_errors_ns_by_slice=_errors_by_slice_ns(source),
        handed_over=source.handed_over() if order.ends_with_slices else (),
    )


def _source_of(order: Order) -> Callable[..., Source]:
    if order.spin_ns or order.sleep_ns:
        return partial(PlantedSource, spin_ns=order.spin_ns, sleep_ns=order.sleep_ns)
    return Source


def _tls_context(certificate: str | None) -> ssl.SSLContext | None:
    """Imported only here: this takes a while, and most senders do not encrypt. Raises SSLError."""
    if certificate is None:
        return None
    from tinygram_bench.tls.contexts import client_context

    return client_context(certificate)


def _encrypted(sock: socket.socket, runtime: runtimes.Runtime, way: runtimes.Way) -> socket.socket:
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


def _pacer(
    order: Order, share: tuple[int, int] | None = None, push_out_fd: int | None = None
) -> _native.Pacer | None:
    pace, slices = order.pace, order.slices
    if pace is None:
        return None
    return _native.Pacer(
        pace.rate_per_s,
        pace.arrival,
        pace.burst,
        pace.duration_ns,
        pace.seed,
        share,
        spin_of(order),
        None if slices is None else slices.native,
        push_out_fd,
    )


def _openings(order: Order) -> Openings | None:
    """When messages are handed over flat out in slices; otherwise None."""
    if order.slices is None or not order.ends_with_slices:
        return None
    return Openings(order.slices.begins_ns, order.slices.open_ns)


def spin_of(order: Order) -> str:
    """How the pacer spins (`Pacer`), so that it takes no core from the sending thread.

    Beside a thread that never rests the pacer sleeps: a thread that wakes up runs before a busy
    one, and a thread that spins does not.
    """
    if order.pace is not None and order.pace.sleeps:
        return "noted"
    if order.has_busy_thread:
        return "never"
    return "yielding" if order.runtime in runtimes.HANDING_OVER else "alone"


def _late_ns(source: Source) -> tuple[int, ...]:
    """How late each message was released, in the order of the schedule."""
    of_each = [pacer.late_ns() for pacer in source.pacers()]
    late_ns = [0] * sum(map(len, of_each))
    if late_ns:
        for first, of_one in enumerate(of_each):
            late_ns[first :: len(of_each)] = of_one
    return tuple(late_ns)


def _spun_by_slice(source: Source) -> tuple[int, ...]:
    """The CPU time, in ns, that the pacers spun in each slice; empty without slices."""
    of_each = [pacer.spin_cpu_ns_by_slice() for pacer in source.pacers()]
    return tuple(map(sum, zip(*of_each, strict=True)))


def _errors_by_slice_ns(source: Source) -> tuple[tuple[int, ...], ...]:
    """The pacers' errors with the measured messages of each slice; empty without slices."""
    of_each = [pacer.errors_by_slice_ns() for pacer in source.pacers()]
    return tuple(tuple(chain(*of_slice)) for of_slice in zip(*of_each, strict=True))


def _shares(order: Order, pool: _native.MessagePool) -> list[Share]:
    """Each producer's messages; empty where there is only one producer."""
    if order.producers == 1:
        return []
    messages = pool.messages()
    end, step = order.warm_up + order.messages, order.producers
    return [
        Share(
            *(messages, order.warm_up + offset, step, end),
            _pacer(order, (offset, step)),
            _openings(order),
        )
        for offset in range(min(order.producers, order.messages))
    ]


def _wait_delivered(probe: socket.socket) -> None:
    """Wait until everything is acknowledged, so that all segments are counted.

    Raises TimeoutError when the receiver does not take it, and OSError when it never will.
    """
    give_up_s = time.monotonic() + _DELIVERY_LIMIT_S
    while not _is_delivered(probe):
        if time.monotonic() > give_up_s:
            raise TimeoutError(f"the last bytes were not delivered within {_DELIVERY_LIMIT_S:g} s")
        time.sleep(0.001)


def _is_delivered(probe: socket.socket) -> bool:
    """Whether everything written was acknowledged. Raises OSError when it never will be."""
    if _native.send_queue_bytes(probe.fileno()) == 0:
        return True
    # The queue of a connection that was reset does not change any more.
    fault = probe.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if fault:
        raise OSError(fault, os.strerror(fault))
    probe.getpeername()
    return False
