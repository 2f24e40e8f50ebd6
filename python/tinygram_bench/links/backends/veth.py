"""`veth`: a pair of virtual Ethernet devices, one on each host, and nothing else.

It emulates no delay, bandwidth or loss: two containers on one machine have such a link between
them. Segmentation and checksum offload are off, so that each counted segment is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tinygram_bench.links.devices import make_veth
from tinygram_bench.links.facts import facts_of, round_trip_facts
from tinygram_bench.links.hosts import Hosts, two_hosts
from tinygram_bench.links.link import Link
from tinygram_bench.links.sandbox import Permission
from tinygram_bench.links.spec import LinkSpec
from tinygram_bench.links.traffic import TrafficMeter
from tinygram_bench.processes.interrupts import INTERRUPTS


def probe() -> Permission:
    """Try to make a pair, and discard it."""
    try:
        with two_hosts() as hosts:
            make_pair(hosts, 1_500)
    except OSError as error:
        return Permission(
            False,
            f"no veth pair can be made ({error.strerror})",
            "load it with `modprobe veth`, or use a kernel with CONFIG_VETH",
        )
    return Permission(True, "veth pairs can be made")


@contextmanager
def up(spec: LinkSpec, _seed: int) -> Iterator[Link]:
    """Two hosts with a veth pair between them. Raises OSError."""
    with ExitStack() as stack:
        with INTERRUPTS.held():
            hosts = stack.enter_context(two_hosts())
            make_pair(hosts, spec.mtu_bytes)
        facts = facts_of(spec, backend="veth", device="veth", found=round_trip_facts(hosts))
        yield Link.between(hosts, facts, TrafficMeter(hosts.device_counters).take)


def make_pair(hosts: Hosts, mtu_bytes: int) -> None:
    """Make a veth pair on both hosts, with addresses, and switched on. Raises OSError."""
    make_veth(hosts.near.end, hosts.far.end, mtu_bytes)
