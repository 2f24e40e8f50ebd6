"""The two hosts of a link: network namespaces, held by descriptors, and their counters.

Each link has a /30 of its own, which no route of this machine covers, so that its addresses are
never those of a real host.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from itertools import cycle

from msgspec import Struct

from tinygram_bench.host.network import Network, own_network
from tinygram_bench.host.probes.kernel import open_counters
from tinygram_bench.links.devices import End, host_routes, unrouted_networks

_MOST_LINKS = 64
_READ_BYTES = 1 << 16
_RECEIVED_DROPPED, _SENT_DROPPED = 3, 11
"""The columns of /proc/net/dev after the device's name (proc_pid_net(5))."""
_SIOCGIFFLAGS, _IFF_UP = 0x8913, 0x1
_IFREQ = "16sH22x"
"""struct ifreq with a device's name and its flags (netdevice(7))."""


class Host(Struct, frozen=True):
    """A host of a link: `device` is the name of its device, which has `address` once it exists.

    `devices_fd`: the host's /proc/net/dev, opened once; `asking`: a socket of its network, to ask
    for the device's state.
    """

    network: Network
    namespace_fd: int
    device: str
    address: str
    devices_fd: int
    asking: socket.socket

    @property
    def end(self) -> End:
        """The end of the link for which the host's device is made."""
        return End(self.network, self.device, self.address)

    def fault(self) -> str | None:
        """Why the device carries no packets; None where it is up. Raises OSError."""
        request = struct.pack(_IFREQ, self.device.encode(), 0)
        try:
            answer = fcntl.ioctl(self.asking, _SIOCGIFFLAGS, request)
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
            return f"the link's device {self.device} was deleted"
        _, flags = struct.unpack(_IFREQ, answer)
        return None if flags & _IFF_UP else f"the link's device {self.device} is down"

    def dropped(self) -> int:
        """How many packets the device dropped so far; 0 while there is no device."""
        for line in os.pread(self.devices_fd, _READ_BYTES, 0).decode().splitlines():
            name, colon, columns = line.partition(":")
            if colon and name.strip() == self.device:
                numbers = columns.split()
                return int(numbers[_RECEIVED_DROPPED]) + int(numbers[_SENT_DROPPED])
        return 0


class Hosts(Struct, frozen=True):
    """Both hosts, and the kernel's counters on each of them (probes/kernel.py)."""

    near: Host
    far: Host
    near_counter_fds: tuple[int, ...]
    far_counter_fds: tuple[int, ...]

    def fault(self) -> str | None:
        """Why no packet gets from one host to the other; None where both devices are up."""
        return self.near.fault() or self.far.fault()

    def device_counters(self) -> dict[str, int]:
        """The packets that the devices of both hosts dropped so far."""
        return {"device_dropped": self.near.dropped() + self.far.dropped()}


@contextmanager
def two_hosts() -> Iterator[Hosts]:
    """Two hosts without a device between them. Raises OSError where that is not permitted."""
    near_address, far_address = next(_networks())
    with ExitStack() as stack:
        near = _host(stack, "tg-near", near_address)
        far = _host(stack, "tg-far", far_address)
        yield Hosts(near, far, _counter_fds(stack, near), _counter_fds(stack, far))


def _counter_fds(stack: ExitStack, host: Host) -> tuple[int, ...]:
    with host.network.entered():
        found = open_counters()
    for fd in found:
        stack.callback(os.close, fd)
    return found


def _host(stack: ExitStack, device: str, address: str) -> Host:
    network = stack.enter_context(own_network())
    assert network.inside is not None, "an own network has a namespace"
    with network.entered():
        devices_fd = os.open("/proc/thread-self/net/dev", os.O_RDONLY | os.O_CLOEXEC)
        stack.callback(os.close, devices_fd)
        asking = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    return Host(network, network.inside, device, address, devices_fd, asking)


def choose_addresses() -> None:
    """Choose addresses that no route covers, once, while this process is in the machine's network.

    Raises OSError where its routes cover every private address.
    """
    _networks()


@lru_cache(maxsize=1)
def _networks() -> Iterator[tuple[str, str]]:
    """(near, far) addresses, one pair after the other."""
    return cycle(unrouted_networks(host_routes(), _MOST_LINKS))
