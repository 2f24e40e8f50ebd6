"""`relay`: our own emulator, which carries each packet between the hosts' devices in its time.

It is one native thread for both directions (crates/link). The devices are TUN where /dev/net/tun
may be opened, otherwise a veth pair on each host, with the relay between the pairs.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from msgspec import Struct

from tinygram_bench import _native
from tinygram_bench.host.network import own_network
from tinygram_bench.links.devices import End, make_veth, open_tun, packet_socket
from tinygram_bench.links.facts import facts_of
from tinygram_bench.links.hosts import Hosts, two_hosts
from tinygram_bench.links.link import Link
from tinygram_bench.links.sandbox import Permission
from tinygram_bench.links.spec import LinkSpec
from tinygram_bench.links.traffic import TrafficMeter
from tinygram_bench.processes.interrupts import INTERRUPTS
from tinygram_bench.processes.workers import RunError
from tinygram_bench.statistics.link_warnings import rtt_miss_ns

QUEUE_PACKETS = 10_000
"""The queue of a TUN device: with 500, the usual length, it drops packets. A veth pair has none."""
_NO_TUN = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENODEV, errno.ENXIO)
_CALIBRATED_FOR_NS = 60_000_000_000
"""How long a calibration is reused: short runs would spend their time on calibrating."""
_OFFLOAD_ABOVE_BITS_PER_S = 1_000_000_000
_OFFLOAD_LEAST_QUEUE_BYTES = 120_000
"""Ten of the longest offloaded packets: none would fit into a queue that is shorter than one."""


class _Devices(Struct, frozen=True):
    """The devices that the relay reads and writes. `kind`: `tun` or `veth`, what programs see."""

    kind: str
    framing: str
    queue_packets: int
    near_fd: int
    far_fd: int


def probe() -> Permission:
    """Try to make the devices, and discard them."""
    try:
        with ExitStack() as stack:
            hosts = stack.enter_context(two_hosts())
            devices = _devices(stack, hosts, 1_500, False)
    except OSError as error:
        return Permission(
            False,
            f"neither TUN nor veth devices can be made ({error.strerror})",
            "load one with `modprobe tun` or `modprobe veth`; in a container, with --device "
            "/dev/net/tun --cap-add NET_ADMIN --cap-add NET_RAW",
        )
    if devices.kind == "tun":
        return Permission(True, "with TUN devices")
    return Permission(
        True,
        "with veth pairs, for /dev/net/tun cannot be opened",
        "for TUN devices `modprobe tun`, and let this user read and write /dev/net/tun",
    )


@contextmanager
def up(spec: LinkSpec, seed: int) -> Iterator[Link]:
    """Two hosts and the relay between them, calibrated. Raises OSError and RunError."""
    with ExitStack() as stack:
        with INTERRUPTS.held():
            hosts = stack.enter_context(two_hosts())
            devices = _devices(stack, hosts, spec.mtu_bytes, wants_offload(spec))
            relay = _native.LinkRelay(
                devices.near_fd,
                devices.far_fd,
                spec.direction,
                seed,
                devices.framing,
            )
            stack.callback(relay.stop)
            relay.start()
        found = _calibrated(relay, hosts, (spec.meaning, devices.kind))
        facts = facts_of(
            spec,
            backend="relay",
            device=devices.kind,
            queue_packets=devices.queue_packets,
            has_offload=devices.framing == "tun-offload",
            found=found,
        )
        meter = TrafficMeter(
            lambda: _counters(relay, hosts), relay.take_lateness, relay.take_stood_still_ns
        )
        yield Link.between(hosts, facts, meter.take)


def wants_offload(spec: LinkSpec) -> bool:
    """Whether TCP's segments stay together: handling each one by itself would be too slow.

    They do not where packets are lost or a short queue drops them, because they would be lost
    together.
    """
    if spec.loss:
        return False
    if spec.bandwidth_bits_per_s is None:
        return True
    return (
        spec.bandwidth_bits_per_s > _OFFLOAD_ABOVE_BITS_PER_S
        and spec.queue_bytes >= _OFFLOAD_LEAST_QUEUE_BYTES
    )


def _devices(stack: ExitStack, hosts: Hosts, mtu_bytes: int, wants_offload: bool) -> _Devices:
    """TUN devices, or veth without offload where these are not available. Raises OSError."""
    try:
        return _tun_devices(stack, hosts, mtu_bytes, wants_offload)
    except OSError as error:
        if error.errno not in _NO_TUN:
            raise
    return _veth_devices(stack, hosts, mtu_bytes)


def _tun_devices(stack: ExitStack, hosts: Hosts, mtu_bytes: int, has_offload: bool) -> _Devices:
    fds = []
    for host in (hosts.near, hosts.far):
        fd = open_tun(host.end, mtu_bytes, QUEUE_PACKETS, has_offload)
        stack.callback(os.close, fd)
        fds.append(fd)
    framing = "tun-offload" if has_offload else "tun"
    return _Devices("tun", framing, QUEUE_PACKETS, *fds)


def _veth_devices(stack: ExitStack, hosts: Hosts, mtu_bytes: int) -> _Devices:
    """Two veth pairs; the relay's ends of them are in a namespace between the hosts."""
    between = stack.enter_context(own_network())
    fds = []
    for host, device in ((hosts.near, "tg-relay-near"), (hosts.far, "tg-relay-far")):
        relays_end = End(between, device, None)
        make_veth(host.end, relays_end, mtu_bytes)
        fd = packet_socket(relays_end)
        stack.callback(os.close, fd)
        fds.append(fd)
    return _Devices("veth", "ethernet", 0, *fds)


_CALIBRATIONS: dict[tuple[str, str], tuple[int, dict[str, int]]] = {}
"""Link and kind of devices → when the link was calibrated, and what was found."""


def forget_calibrations() -> None:
    """Have every link calibrated anew."""
    _CALIBRATIONS.clear()


def _calibrated(relay: _native.LinkRelay, hosts: Hosts, key: tuple[str, str]) -> dict[str, int]:
    """The facts of a calibration now, or within the last minute. Raises OSError.

    A calibration that misses the round trip asked for is not kept: the next link tries again.
    """
    if key in _CALIBRATIONS:
        found_at_ns, found = _CALIBRATIONS[key]
        age_ns = time.monotonic_ns() - found_at_ns
        if age_ns < _CALIBRATED_FOR_NS:
            relay.set_excess_ns(found["excess_ns"])
            return found | {"calibration_age_ns": age_ns}
    found = dict(
        relay.calibrate(hosts.near.namespace_fd, hosts.far.namespace_fd, hosts.far.address)
    )
    if rtt_miss_ns(found["asked_rtt_ns"], found["left_rtt_ns"]) == 0:
        _CALIBRATIONS[key] = (time.monotonic_ns(), found)
    else:
        _CALIBRATIONS.pop(key, None)
    return found | {"calibration_age_ns": 0}


def _counters(relay: _native.LinkRelay, hosts: Hosts) -> dict[str, int]:
    """The counters of the relay and the devices. Raises RunError where the relay has ended."""
    counters = dict(relay.counters())
    failed_errno = counters.pop("relay_failed_errno")
    if failed_errno:
        raise RunError(hosts.fault() or f"the link's relay ended: {os.strerror(failed_errno)}")
    return counters | hosts.device_counters()
