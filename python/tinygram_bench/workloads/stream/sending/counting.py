"""What a sender counts from the start of its measured messages until all of them have arrived."""

from __future__ import annotations

import operator
import os
import socket
import time
from collections.abc import Sequence

from tinygram_bench import _native
from tinygram_bench.host.probes.usage import Mark, segments_since
from tinygram_bench.processes.orders import Arrived, Orders
from tinygram_bench.ways.runtimes import Way
from tinygram_bench.workloads.stream.meeting import connecting_port
from tinygram_bench.workloads.stream.order import Order
from tinygram_bench.workloads.stream.sending.busy_thread import BusyThread

_DELIVERY_LIMIT_S = 10.0


class Counting:
    """Counters of the way and its connections, between `start` and `end`.

    `probes`: a socket of each connection, which is still open at the end.
    """

    def __init__(self, order: Order, way: Way, probes: Sequence[socket.socket]) -> None:
        self._order = order
        self._way = way
        self._probes = probes
        self._busy = BusyThread() if order.has_busy_thread else None
        self._own_calls: tuple[int, int] | None = None
        self._start: Mark | None = None
        self.counters: dict[str, int | None] = {}
        """By name, after the end."""
        self.peer_port = 0
        """The port by which both ends know the connection, after the end."""

    def start(self) -> None:
        """Note the totals so far.

        The busy thread starts after the first mark and ends before the second, so that all its CPU
        time is between them.
        """
        order = self._order
        self._own_calls = None if self._way.own_calls is None else self._way.own_calls()
        self._start = Mark.at_start(self._probes, self._way.child_pids, order.counter_fds)
        if self._busy is not None:
            self._busy.start()

    def end(self) -> None:
        """Count what came since the start, once all bytes are delivered.

        Raises TimeoutError when the receiver does not take them, and OSError when it never will.
        """
        order, way, probes = self._order, self._way, self._probes
        assert self._start is not None, "it has started"
        busy_cpu_ns = 0 if self._busy is None else self._busy.stop()
        end = Mark.at_end(probes, way.child_pids, order.counter_fds)
        for probe in probes:
            _wait_delivered(probe)
        self.counters = end.since(self._start)
        self.counters |= segments_since(self._start, probes, order.counter_fds)
        if way.own_calls is not None and self._own_calls is not None:
            writes, would_block = map(operator.sub, way.own_calls(), self._own_calls)
            self.counters |= {"writes": writes, "would_block": would_block, "written_bytes": None}
        self.counters["busy_thread_cpu_ns"] = busy_cpu_ns
        buffer_bytes = probes[0].getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        self.counters["send_buffer_bytes"] = buffer_bytes
        self.peer_port = connecting_port(order, probes[0])
        if order.connections == 1:
            probes[0].shutdown(socket.SHUT_WR)
            probes[0].close()


class WarmUp:
    """Whether the first `size_bytes`, which are not measured, have arrived.

    It must be made before they are sent. The receiver says so where they are encrypted; else the
    library that counts writes knows when they were written, and the kernel when they are
    acknowledged.
    """

    def __init__(
        self, size_bytes: int, way: Way, probes: Sequence[socket.socket], orders: Orders
    ) -> None:
        self._size_bytes = size_bytes
        self._way = way
        self._probes = probes
        self._orders = orders
        self._before = _native.write_counts()

    def has_arrived(self) -> bool:
        """Whether it has; raises OSError when it never will."""
        if self._way.tls is not None:
            return self._orders.has_line() and self._orders.hear(Arrived) is not None
        return self._is_written() and all(map(_is_delivered, self._probes))

    def _is_written(self) -> bool:
        now = _native.write_counts()
        if self._way.own_calls is not None or now is None or self._before is None:
            return True
        return now[1] - self._before[1] >= self._size_bytes


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
