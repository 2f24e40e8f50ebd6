"""The devices of links: TUN devices, veth pairs and packet sockets, in networks of our own.

Devices, addresses and routes are managed by pyroute2 (rtnetlink(7)), which is imported only when it
is needed: that takes 0.2 s.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tinygram_bench._native import OFFLOADED_BYTES
from tinygram_bench.host.network import Network

if TYPE_CHECKING:
    from pyroute2 import IPRoute

_HOST_MAC, _RELAY_MAC = "02:74:67:00:00:01", "02:74:67:00:00:02"
"""All devices with an IP address have the first one, so that a frame of one pair is valid in
another. Frames for the second one are for another host."""
_PREFIX_BITS = 30
"""The prefix length of the network of a link's two hosts."""
_VETH_QUEUE_PACKETS = 1_000
"""The kernel's default; a veth device has a queue only when somebody adds one."""
_PACKET_BUFFER_BYTES = 16 << 20
"""The buffer of a packet socket until the relay reads it: 8 ms at 10 Gbit/s."""

_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR = 0x1, 0x1000, 0x4000
_TUN_OFFLOADS = 0x1 | 0x2
"""TUN_F_CSUM and TUN_F_TSO4: checksums are left open, and TCP over IPv4 uncut."""
_SIOCETHTOOL = 0x8946
_ETHTOOL_OFFLOADS = (0x17, 0x1F, 0x24, 0x2C)
"""ETHTOOL_STXCSUM, STSO, SGSO, SGRO (linux/ethtool.h)."""
_ETH_P_IP = 0x0800
_SO_RCVBUFFORCE = 33

_RANGES = [
    (IPv4Address(first), IPv4Address(last))
    for first, last in (
        ("10.128.0.0", "10.255.255.255"),
        ("172.16.0.0", "172.31.255.255"),
        ("192.168.0.0", "192.168.255.255"),
        ("10.0.0.0", "10.127.255.255"),
    )
]
"""Private addresses (RFC 1918), those that fewer hosts use first."""
_LONGEST_WAY_OUT_BITS = 7
"""Prefixes up to this length are ways out, such as 0.0.0.0/0 or a VPN's two halves of it."""


class End(Struct, frozen=True):
    """A device of a link, or one end of a veth pair. Without an address, the relay has it."""

    network: Network
    device: str
    address: str | None


def open_tun(end: End, mtu_bytes: int, queue_packets: int, has_offload: bool) -> int:
    """Make a TUN device, and switch it on; return its descriptor, whose closing ends the device.

    With `has_offload`, TCP segments stay together up to OFFLOADED_BYTES, and checksums are left
    open. Raises OSError: ENOENT without /dev/net/tun, EACCES where it may not be opened, EPERM
    without CAP_NET_ADMIN.
    """
    flags = _IFF_TUN | _IFF_NO_PI | (_IFF_VNET_HDR if has_offload else 0)
    with end.network.entered():
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", end.device.encode(), flags))
            if has_offload:
                fcntl.ioctl(fd, _TUNSETOFFLOAD, _TUN_OFFLOADS)
            with _rtnetlink() as route:
                _switch_on(route, end, mtu_bytes, queue_packets)
        except BaseException:
            os.close(fd)
            raise
    return fd


def make_veth(near: End, far: End, mtu_bytes: int) -> None:
    """Make a veth pair without offload or ARP, and switch both ends on.

    The pair ends with either network. Raises OSError: EPERM without CAP_NET_ADMIN, EOPNOTSUPP where
    the kernel has no veth.
    """
    peer = {"ifname": far.device, "address": _mac(far), "net_ns_fd": far.network.inside}
    with near.network.entered(), _rtnetlink() as route:
        route.link("add", kind="veth", ifname=near.device, address=_mac(near), peer=peer)
    for end in (near, far):
        with end.network.entered(), _rtnetlink() as route:
            _switch_offloads_off(end.device)
            _switch_on(route, end, mtu_bytes, _VETH_QUEUE_PACKETS)


def packet_socket(end: End) -> int:
    """Open a socket for the IPv4 frames of a device; return its descriptor. Raises OSError."""
    # The socket has no protocol until it is bound, so that no frames of other devices come.
    kind = socket.SOCK_RAW | socket.SOCK_NONBLOCK
    with end.network.entered(), socket.socket(socket.AF_PACKET, kind) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _PACKET_BUFFER_BYTES)
        # Only root may exceed the limit net.core.rmem_max; for others it stays.
        with suppress(PermissionError):
            sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _PACKET_BUFFER_BYTES)
        sock.bind((end.device, _ETH_P_IP))
        return sock.detach()


def host_routes() -> list[IPv4Network]:
    """The destinations of the caller's network's IPv4 routes, in every table. Raises OSError."""
    with _rtnetlink() as route:
        found = route.get_routes(family=socket.AF_INET)
        return [IPv4Network((each.get("dst") or 0, each["dst_len"])) for each in found]


def unrouted_networks(routes: Sequence[IPv4Network], count: int) -> list[tuple[str, str]]:
    """The addresses of two hosts in each of `count` /30 networks that no route covers.

    Raises OSError (EADDRNOTAVAIL) where `routes` leave fewer networks.
    """
    taken = [
        (int(route[0]), int(route[-1]))
        for route in routes
        if route.prefixlen > _LONGEST_WAY_OUT_BITS
    ]
    found: list[tuple[str, str]] = []
    for first, last in _RANGES:
        at = int(first)
        while len(found) < count and at < int(last):
            covering = [end for start, end in taken if start <= at + 3 and at <= end]
            if not covering:
                found.append((str(IPv4Address(at + 1)), str(IPv4Address(at + 2))))
            at = (max(covering, default=at) | 3) + 1
    if len(found) < count:
        raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    return found


@contextmanager
def _rtnetlink() -> Iterator[IPRoute]:
    """Open rtnetlink in the calling thread's network. Its refusals become OSError."""
    from pyroute2 import IPRoute, NetlinkError

    try:
        with IPRoute() as route:
            yield route
    except NetlinkError as error:
        raise OSError(error.code, os.strerror(error.code)) from error


def _switch_on(route: IPRoute, end: End, mtu_bytes: int, queue_packets: int) -> None:
    # IPv6 would send packets of its own; where /proc/sys is read-only, it still does.
    with suppress(OSError):
        Path(f"/proc/sys/net/ipv6/conf/{end.device}/disable_ipv6").write_text("1")
    index = socket.if_nametoindex(end.device)
    route.link(
        "set", index=index, mtu=mtu_bytes, txqlen=queue_packets, gso_max_size=OFFLOADED_BYTES
    )
    if end.address is not None:
        route.addr("add", index=index, address=end.address, prefixlen=_PREFIX_BITS)
    # Nobody answers ARP on the other side of a relay.
    route.link("set", index=index, state="up", arp=False)


def _mac(end: End) -> str:
    return _RELAY_MAC if end.address is None else _HOST_MAC


def _switch_offloads_off(device: str) -> None:
    """Switch offloads off, so that packets have the size and checksum that they have on a wire."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for command in _ETHTOOL_OFFLOADS:
            value = (ctypes.c_uint32 * 2)(command, 0)
            fcntl.ioctl(
                sock, _SIOCETHTOOL, struct.pack("16sP16x", device.encode(), ctypes.addressof(value))
            )
