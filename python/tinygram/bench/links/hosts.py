"""The two hosts of a link: network namespaces, held by descriptors, and what is read of them.

Each link has a /30 of its own, which no route of this machine covers: its addresses never are
those of another host that somebody means.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle

from tinygram import _native
from tinygram.bench.network import Network, own_network
from tinygram.bench.probes.kernel import open_counters

NEAR_DEVICE = "tg-near"
FAR_DEVICE = "tg-far"
_MOST_LINKS = 64
_READ_BYTES = 1 << 16
_RECEIVED_DROPPED, _SENT_DROPPED = 3, 11
"""Columns of /proc/net/dev after the device's name (proc_pid_net(5))."""


@dataclass(frozen=True)
class Hosts:
    """Both hosts; the descriptors are those of their namespaces."""

    near: Network
    far: Network
    near_namespace_fd: int
    far_namespace_fd: int
    near_address: str
    far_address: str
    far_counter_fds: tuple[int, ...]
    device_files: tuple[int, int]

    @property
    def ends(self) -> tuple[tuple[int, str, str], tuple[int, str, str]]:
        """Of each host, near first: its namespace, its device's name, and that one's address."""
        return (
            (self.near_namespace_fd, NEAR_DEVICE, self.near_address),
            (self.far_namespace_fd, FAR_DEVICE, self.far_address),
        )

    def device_counters(self) -> dict[str, int]:
        """What the devices of both hosts dropped so far."""
        devices = zip(self.device_files, (NEAR_DEVICE, FAR_DEVICE), strict=True)
        return {"device_dropped": sum(_dropped(_contents(fd), name) for fd, name in devices)}


@contextmanager
def two_hosts() -> Iterator[Hosts]:
    """Two hosts without a device between them. Raises OSError where that is not permitted."""
    near_address, far_address = next(_networks())
    with ExitStack() as stack:
        near, far = stack.enter_context(own_network()), stack.enter_context(own_network())
        assert near.inside is not None, "an own network has a namespace"
        assert far.inside is not None, "an own network has a namespace"
        device_files = []
        for network in (near, far):
            with network.entered():
                fd = os.open("/proc/thread-self/net/dev", os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, fd)
            device_files.append(fd)
        with far.entered():
            far_counter_fds = open_counters()
        for fd in far_counter_fds:
            stack.callback(os.close, fd)
        yield Hosts(
            near=near,
            far=far,
            near_namespace_fd=near.inside,
            far_namespace_fd=far.inside,
            near_address=near_address,
            far_address=far_address,
            far_counter_fds=far_counter_fds,
            device_files=(device_files[0], device_files[1]),
        )


def choose_addresses() -> None:
    """Choose what no route covers: once, while this process is in this machine's own network.

    Raises OSError where its routes cover every private address.
    """
    _networks()


@lru_cache(maxsize=1)
def _networks() -> Iterator[tuple[str, str]]:
    """(near, far) addresses, one pair after the other."""
    return cycle(_native.unrouted_networks(_MOST_LINKS))


def _contents(fd: int) -> bytes:
    return os.pread(fd, _READ_BYTES, 0)


def _dropped(table: bytes, device: str) -> int:
    for line in table.decode().splitlines():
        name, colon, columns = line.partition(":")
        if colon and name.strip() == device:
            numbers = columns.split()
            return int(numbers[_RECEIVED_DROPPED]) + int(numbers[_SENT_DROPPED])
    return 0
