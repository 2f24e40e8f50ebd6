"""Where a run's connection lives: a network namespace of its own where that is permitted.

Nobody else's traffic is then in the kernel's counters. The namespace is held by descriptors
only: it goes with its last process, also after a kill.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tinygram import _native
from tinygram.bench.errors import UsageError

_COUNTED: dict[str, dict[str, tuple[str, ...]]] = {
    "/proc/thread-self/net/snmp": {"Tcp": ("InSegs", "OutSegs", "RetransSegs")},
    "/proc/thread-self/net/netstat": {
        "TcpExt": ("DelayedACKs", "TCPAutoCorking", "TCPTimeouts", "ListenOverflows")
    },
}


@dataclass(frozen=True)
class Network:
    """A place to start processes in; `home` and `inside` are None where it is the host's."""

    home: int | None = None
    inside: int | None = None

    @contextmanager
    def entered(self) -> Iterator[None]:
        """What the block starts is born in this network."""
        if self.home is None or self.inside is None:
            yield
            return
        _native.enter_network_namespace(self.inside)
        try:
            yield
        finally:
            _native.enter_network_namespace(self.home)

    def counters(self) -> dict[str, int | None]:
        """The kernel's TCP counters of this network; null where others' traffic is in them."""
        names = [
            f"kernel_{name}"
            for groups in _COUNTED.values()
            for group in groups.values()
            for name in group
        ]
        counters: dict[str, int | None] = dict.fromkeys(names)
        if self.inside is None:
            return counters
        with self.entered():
            for path, groups in _COUNTED.items():
                found = _read(path)
                for group, wanted in groups.items():
                    for name in wanted:
                        counters[f"kernel_{name}"] = found.get((group, name))
        return counters


@contextmanager
def private_network() -> Iterator[Network]:
    """A network of the run's own; the host's where that is not permitted."""
    try:
        home, inside = _native.create_network_namespace()
    except PermissionError:
        yield Network()
        return
    try:
        yield Network(home, inside)
    finally:
        os.close(home)
        os.close(inside)


def _read(path: str) -> dict[tuple[str, str], int]:
    """Lines in pairs: `Group: Name …` and `Group: number …` (proc_pid_net(5))."""
    lines = [line.split() for line in Path(path).read_text().splitlines()]
    return {
        (names[0].rstrip(":"), name): int(value)
        for names, values in zip(lines[::2], lines[1::2], strict=True)
        for name, value in zip(names[1:], values[1:], strict=True)
    }


def check_congestion_control(name: str) -> None:
    """Raises UsageError unless the kernel gives a socket this congestion control."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError as error:
            known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
            raise UsageError(
                f"congestion control {name!r} is not to be had here ({error.strerror}): the "
                f"kernel has {', '.join(known)}; name one with --congestion-control"
            ) from error
