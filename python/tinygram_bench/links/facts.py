"""The facts of a link that is up, which go into every run over it."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from tinygram_bench import _native
from tinygram_bench.links import sandbox
from tinygram_bench.links.hosts import Hosts
from tinygram_bench.links.spec import LinkSpec
from tinygram_bench.model.result import LinkFacts

_ROUND_TRIPS = 50
_OFFLOAD = {False: "no offload", True: "segmentation offload"}


def facts_of(
    spec: LinkSpec,
    *,
    backend: str,
    device: str,
    queue_packets: int = 0,
    has_offload: bool = False,
    found: Mapping[str, int],
) -> LinkFacts:
    """The facts of a link. `found`: the measured ones by name; the others are None."""
    return LinkFacts(
        meaning=spec.meaning,
        backend=backend,
        device=device,
        rtt_ns=spec.rtt_ns if spec.is_emulated else None,
        bandwidth_bits_per_s=spec.bandwidth_bits_per_s,
        jitter_ns=spec.jitter_ns,
        loss=float(spec.loss),
        queue_bytes=spec.queue_bytes if spec.bandwidth_bits_per_s else None,
        mtu_bytes=spec.mtu_bytes,
        device_queue_packets=queue_packets,
        has_offload=has_offload,
        is_rootless=sandbox.is_rootless(),
        asked_rtt_ns=found.get("asked_rtt_ns"),
        found_rtt_ns=found.get("found_rtt_ns"),
        left_rtt_ns=found.get("left_rtt_ns"),
        excess_ns=found.get("excess_ns"),
        calibration_age_ns=found.get("calibration_age_ns"),
    )


def round_trip_facts(hosts: Hosts) -> dict[str, int]:
    """The round trip as found, in ns, without any correction. Raises OSError."""
    found_ns = _native.ping_pong_ns(
        hosts.near.namespace_fd, hosts.far.namespace_fd, hosts.far.address, _ROUND_TRIPS
    )
    return {"found_rtt_ns": round(median(found_ns))}


def described(facts: LinkFacts) -> str:
    """The facts in one line of text."""
    queue = "" if facts.queue_bytes is None else f", queue {facts.queue_bytes:,} B"
    packets = facts.device_queue_packets
    devices = f"device queues {packets:,} packets" if packets else "no device queues"
    return (
        f"{facts.meaning} by {facts.backend} ({facts.device}), MTU {facts.mtu_bytes}{queue}, "
        f"{devices}, {_OFFLOAD[facts.has_offload]}{_found(facts)}"
    )


def _found(facts: LinkFacts) -> str:
    """How far the round trip is off, and no more: a ping-pong's delay may not be the link's."""
    rtt_ns, asked_ns = facts.measured_rtt_ns, facts.asked_rtt_ns
    if rtt_ns is None:
        return ""
    if asked_ns is None:
        return f"; a ping-pong took {rtt_ns / 1e3:,.0f} µs"
    off_us = round((rtt_ns - asked_ns) / 1e3)
    if not off_us:
        return "; a ping-pong took as long as was asked"
    return f"; a ping-pong took {abs(off_us):,} µs {'more' if off_us > 0 else 'less'} than asked"
