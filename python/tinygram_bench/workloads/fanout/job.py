"""What every publisher gets, and how it reports its progress."""

from __future__ import annotations

import gc
import resource
import socket
import time
from collections.abc import Callable, Sequence
from itertools import compress, repeat

from tinygram_bench import _native
from tinygram_bench.host.network.connections import introduce, unconnected_socket
from tinygram_bench.host.probes.calls import CallTimes, call_times, taken_between
from tinygram_bench.processes.orders import Go, Orders, Ready
from tinygram_bench.workloads.fanout.order import (
    WARM_UP,
    Begin,
    PublisherOrder,
    Report,
    Warm,
)

_CONNECT_LIMIT_S = 10.0
_AT_A_TIME = 32
"""How many connections are made at a time to another host."""


class Job:
    """A publisher's order and its connections; one run."""

    def __init__(self, order: PublisherOrder, orders: Orders) -> None:
        """Connect to all subscribers. Raises OSError."""
        self.order = order
        self.publications = _native.Publications(order.seed, order.message_bytes)
        self.calls: Callable[[], tuple[int, int]] | None = None
        """For a publisher that counts its own calls: its writes, and those that found a buffer
        full."""
        self._orders = orders
        self._began_ns = time.monotonic_ns()
        connected = _all_connected(order)
        self.sockets: Sequence[socket.socket] = [sock for sock, _ in connected]
        self._connects_ns = [took_ns for _, took_ns in connected]
        self._startup_ns = 0
        self._before = _Used(None)
        self._counters: dict[str, int | None] = {}
        self._publications = 0
        self.times: Times | None = None
        """For a publisher that times when its publications are handed over."""

    def watch_writes(self) -> None:
        """Count the writes to all connections, through whichever descriptor each has by now."""
        _native.watch_writes([sock.fileno() for sock in self.sockets])

    def warmed_up(self, took_ns: int) -> Begin:
        """Report the warm-up, whose publications took `took_ns` together, and wait for the start.

        Raises EOFError when the bench has ended.
        """
        gc.collect()
        gc.freeze()
        self._startup_ns = time.monotonic_ns() - self._began_ns
        self._orders.say(Warm(took_ns // WARM_UP))
        begin = self._orders.hear(Begin)
        if begin is None:
            raise EOFError("the bench has ended")
        self._before = _Used(self.calls)
        return begin

    def published(self, count: int) -> None:
        """Report that all was handed over, and wait until the slices of all cases are over.

        Ending connections would take a core from the other cases. Raises EOFError when the bench
        has ended.
        """
        self._counters = _Used(self.calls).since(self._before)
        self._publications = count
        self._orders.say(Ready())
        if self._orders.hear(Go) is None:
            raise EOFError("the bench has ended")

    def report(self) -> Report:
        connects_ns = self._connects_ns
        is_in_turn = self.order.client.token is None
        return Report(
            self._publications,
            self._counters
            | ({} if self.times is None else self.times.counters)
            | {
                # Connections that are made at a time wait for each other.
                "connect_ns": sum(connects_ns) // len(connects_ns) if is_in_turn else None,
                "connect_max_ns": max(connects_ns) if is_in_turn else None,
                "startup_ns": self._startup_ns,
            },
        )


class Times:
    """How long publications wait to be begun, and take until they are handed over to all.

    They are those that subscribers measure: what is due while a slice settles is left out, so that
    these times are parts of the time until the last subscriber has one. `is_held`: the strategy
    holds them back until their iteration ends, or longer, which is not in these times; otherwise
    each is handed over when its writes have returned.
    """

    def __init__(self, begin: Begin, *, is_held: bool) -> None:
        self._begin = begin
        self._is_held = is_held
        self._begun_ns = self._delays_ns = self._handing_over_ns = 0
        self._timed = 0
        self._are_measured: Sequence[bool] = ()
        """Whether each publication of this iteration that is not handed over yet is timed."""

    def begin(self, all_due_ns: Sequence[int]) -> None:
        """Begin an iteration, with the publications that were due at these times."""
        self._begun_ns = time.monotonic_ns()
        start_ns, slices = self._begin.at_ns, self._begin.slices
        self._are_measured = [slices.is_measured(due_ns - start_ns) for due_ns in all_due_ns]
        delays_ns = [self._begun_ns - due_ns for due_ns in compress(all_due_ns, self._are_measured)]
        self._delays_ns += sum(delays_ns)
        self._timed += len(delays_ns)

    def wrote(self, count: int) -> None:
        """Say that so many of them have been written to all."""
        if not self._is_held:
            self._hand_over(count)

    def end(self) -> None:
        """End the iteration."""
        if self._is_held:
            self._hand_over(len(self._are_measured))

    @property
    def counters(self) -> dict[str, int | None]:
        """The times of all that were timed together, in ns, and how many these are."""
        return {
            "timed_publications": self._timed,
            "start_delays_ns": self._delays_ns,
            "handing_over_ns": self._handing_over_ns,
        }

    def _hand_over(self, count: int) -> None:
        """The next `count` of this iteration are handed over now."""
        timed = sum(self._are_measured[:count])
        self._are_measured = self._are_measured[count:]
        self._handing_over_ns += timed * (time.monotonic_ns() - self._begun_ns)


class _Used:
    """What this process has used and written so far."""

    def __init__(self, calls: Callable[[], tuple[int, int]] | None) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        writes, written_bytes, would_block = _native.write_counts() or (None, None, None)
        if calls is not None:
            (writes, would_block), written_bytes = calls(), None
        self._times: CallTimes | None = None if calls is not None else call_times()
        self._counts: dict[str, int | None] = {
            "cpu_ns": time.process_time_ns(),
            "voluntary_context_switches": usage.ru_nvcsw,
            "involuntary_context_switches": usage.ru_nivcsw,
            "writes": writes,
            "written_bytes": written_bytes,
            "would_block": would_block,
        }

    def since(self, earlier: _Used) -> dict[str, int | None]:
        """What was used in between; None where it is not known."""
        grown = {
            name: None if count is None or before is None else count - before
            for (name, count), before in zip(
                self._counts.items(), earlier._counts.values(), strict=True
            )
        }
        return grown | taken_between(earlier._times, self._times)


def _all_connected(order: PublisherOrder) -> list[tuple[socket.socket, int]]:
    """The connections, and how long each took to be made. Raises OSError.

    To another host many are made at a time, for each then takes two round trips.
    """
    if order.client.token is None:
        return [_connected(order) for _ in range(order.subscribers)]
    # Imported only here: most runs have no far host.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_AT_A_TIME) as threads:
        return list(threads.map(_connected, repeat(order, order.subscribers)))


def _connected(order: PublisherOrder) -> tuple[socket.socket, int]:
    sock = unconnected_socket(
        order.host,
        order.congestion_control,
        order.client.host,
        is_nodelay=order.strategy.name != "nagle",
    )
    start_ns = time.monotonic_ns()
    sock.settimeout(_CONNECT_LIMIT_S)
    sock.connect((order.host, order.port))
    took_ns = time.monotonic_ns() - start_ns
    sock.settimeout(None)
    introduce(sock, order.client.token)
    return sock, took_ns
