"""The CPU time, context switches, writes and segments of a sender between two marks."""

from __future__ import annotations

import resource
import socket
from collections.abc import Sequence

from msgspec import Struct

from tinygram_bench import _native
from tinygram_bench.host.probes.calls import CallTimes, call_times, taken_between
from tinygram_bench.host.probes.kernel import Counted, CounterFds, counted_between, counters_here
from tinygram_bench.processes.cpu_clock import cpu_ns

_COUNTED = ("data_segments", "segments_out", "segments_in", "retransmits")


class Mark(Struct, frozen=True):
    """Totals so far; counters are the difference of two marks."""

    cpu_ns: int
    voluntary_context_switches: int
    involuntary_context_switches: int
    writes: tuple[int, int, int] | None
    instructions: int | None
    calls: CallTimes | None
    connection: dict[str, int]
    kernel: Counted

    @staticmethod
    def at_start(
        probes: Sequence[socket.socket], child_pids: Sequence[int], counter_fds: CounterFds
    ) -> Mark:
        """The totals of this process and its children now; `probes` are its connections.

        CPU time is read last, so that what the mark itself takes is before the start.
        """
        writes, instructions, calls, connection, kernel = _counted(probes, counter_fds)
        return Mark(*_used(child_pids), writes, instructions, calls, connection, kernel)

    @staticmethod
    def at_end(
        probes: Sequence[socket.socket], child_pids: Sequence[int], counter_fds: CounterFds
    ) -> Mark:
        """The same, with CPU time read first: what the mark itself takes is after the end."""
        used = _used(child_pids)
        writes, instructions, calls, connection, kernel = _counted(probes, counter_fds)
        return Mark(*used, writes, instructions, calls, connection, kernel)

    def since(self, earlier: Mark) -> dict[str, int | None]:
        """Named counters of what was used between two marks; None: not counted here."""
        counters: dict[str, int | None] = {
            "cpu_ns": self.cpu_ns - earlier.cpu_ns,
            "voluntary_context_switches": self.voluntary_context_switches
            - earlier.voluntary_context_switches,
            "involuntary_context_switches": self.involuntary_context_switches
            - earlier.involuntary_context_switches,
            "writes": None,
            "written_bytes": None,
            "would_block": None,
            "instructions": None,
        }
        if self.writes is not None and earlier.writes is not None:
            names = ("writes", "written_bytes", "would_block")
            differences = (b - a for a, b in zip(earlier.writes, self.writes, strict=True))
            counters |= zip(names, differences, strict=True)
        if self.instructions is not None and earlier.instructions is not None:
            counters["instructions"] = self.instructions - earlier.instructions
        return counters | taken_between(earlier.calls, self.calls)


def _used(child_pids: Sequence[int]) -> tuple[int, int, int]:
    """CPU ns, voluntary and involuntary context switches of this process and its children."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
    used = [(round(cpu_s * 1e9), own.ru_nvcsw + ended.ru_nvcsw, own.ru_nivcsw + ended.ru_nivcsw)]
    used += [living for pid in child_pids if (living := _living_child(pid)) is not None]
    cpu_ns, voluntary, involuntary = map(sum, zip(*used, strict=True))
    return cpu_ns, voluntary, involuntary


def _counted(
    probes: Sequence[socket.socket], counter_fds: CounterFds
) -> tuple[tuple[int, int, int] | None, int | None, CallTimes | None, dict[str, int], Counted]:
    """Writes, instructions, the times of calls, the connections' counters and the kernel's."""
    return (
        _native.write_counts(),
        _native.instructions(),
        call_times(),
        _connections_counted(probes),
        counters_here(counter_fds),
    )


def _connections_counted(probes: Sequence[socket.socket]) -> dict[str, int]:
    """The TCP_INFO counters of all connections together, with the state of the first one."""
    found = dict(_native.tcp_info(probes[0].fileno()))
    for probe in probes[1:]:
        state = dict(_native.tcp_info(probe.fileno()))
        for name in _COUNTED:
            found[name] += state[name]
    return found


def _living_child(pid: int) -> tuple[int, int, int] | None:
    """CPU ns, voluntary and involuntary context switches of a child; None when it has ended."""
    try:
        used_ns = cpu_ns(pid)
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status if ":" in line)
    except OSError:
        return None
    return (
        used_ns,
        int(fields["voluntary_ctxt_switches"]),
        int(fields["nonvoluntary_ctxt_switches"]),
    )


def segments_since(
    mark: Mark, probes: Sequence[socket.socket], counter_fds: CounterFds
) -> dict[str, int | None]:
    """What TCP_INFO and the kernel counted since the mark, and the connection's state now."""
    state = _connections_counted(probes)
    counters: dict[str, int | None] = {
        name: state[name] - mark.connection[name] for name in _COUNTED
    }
    counters |= counted_between(mark.kernel, counters_here(counter_fds))
    return counters | {"send_mss_bytes": state["send_mss_bytes"], "rtt_us": state["rtt_us"]}
