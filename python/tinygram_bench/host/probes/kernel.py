"""The kernel's TCP counters of a network namespace; in a private one they are a run's own."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tinygram_bench.host.network import Network

_FILES = ("/proc/thread-self/net/snmp", "/proc/thread-self/net/netstat")
_READ_BYTES = 1 << 16

KERNEL_COUNTERS = {
    "kernel_InSegs": ("Tcp", "InSegs"),
    "kernel_OutSegs": ("Tcp", "OutSegs"),
    "kernel_RetransSegs": ("Tcp", "RetransSegs"),
    "kernel_DelayedACKs": ("TcpExt", "DelayedACKs"),
    "kernel_EstabResets": ("Tcp", "EstabResets"),
    "kernel_TCPAutoCorking": ("TcpExt", "TCPAutoCorking"),
    "kernel_TCPTimeouts": ("TcpExt", "TCPTimeouts"),
    "kernel_ListenOverflows": ("TcpExt", "ListenOverflows"),
    "kernel_OutRsts": ("Tcp", "OutRsts"),
    "kernel_TCPSynRetrans": ("TcpExt", "TCPSynRetrans"),
}
"""Counters of both ends of a run; the names are the kernel's own (snmp_counter.rst)."""

Counted = dict[str, int] | None
"""Each of KERNEL_COUNTERS; None where they include other traffic."""

CounterFds = tuple[int, ...] | None
"""What is read beside the counters of a run's own host: the descriptors that `open_counters` opened
on its other host, () where there is one host. None: no counters are read, because they include
other traffic."""


def counters_here(counter_fds: CounterFds) -> Counted:
    """The counters of this thread's network now, with those of the other host added."""
    return None if counter_fds is None else _counters(counter_fds)


def counters_in(network: Network, counter_fds: CounterFds) -> Counted:
    with network.entered():
        return counters_here(counter_fds)


def counted_between(before: Counted, after: Counted) -> dict[str, int | None]:
    """By how much each counter has grown; None where that is not known."""
    if before is None or after is None:
        return dict.fromkeys(KERNEL_COUNTERS)
    return {name: count - before[name] for name, count in after.items()}


def _counters(counter_fds: Sequence[int]) -> dict[str, int]:
    """The counters by name; 0 for a counter that this kernel does not have."""
    found: dict[tuple[str, str], int] = {}
    tables = [_text(path) for path in _FILES]
    tables += [os.pread(fd, _READ_BYTES, 0).decode() for fd in counter_fds]
    for table in tables:
        # Lines in pairs: `Group: Name …`, then `Group: number …` (proc_pid_net(5)).
        lines = [line.split() for line in table.splitlines()]
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            group = names[0].rstrip(":")
            for name, value in zip(names[1:], values[1:], strict=True):
                found[group, name] = found.get((group, name), 0) + int(value)
    return {name: found.get(key, 0) for name, key in KERNEL_COUNTERS.items()}


def _text(path: str) -> str:
    """A file's text, read without pathlib, so that senders and receivers start sooner."""
    with open(path) as file:
        return file.read()


def open_counters() -> tuple[int, ...]:
    """Descriptors of the counters of this thread's namespace; they stay with this namespace.

    A process that has them can read them without the right to enter the namespace.
    """
    return tuple(os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in _FILES)
