"""The kernel's TCP counters of the network namespace that this thread is in."""

from __future__ import annotations

from pathlib import Path

_FILES = ("/proc/thread-self/net/snmp", "/proc/thread-self/net/netstat")

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


def kernel_counters() -> dict[str, int]:
    """Every counter of KERNEL_COUNTERS now; 0 for one that this kernel does not know."""
    found: dict[tuple[str, str], int] = {}
    for path in _FILES:
        # Lines in pairs: `Group: Name …`, then `Group: number …` (proc_pid_net(5)).
        lines = [line.split() for line in Path(path).read_text().splitlines()]
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            group = names[0].rstrip(":")
            found |= {
                (group, name): int(value) for name, value in zip(names[1:], values[1:], strict=True)
            }
    return {name: found.get(key, 0) for name, key in KERNEL_COUNTERS.items()}
