"""`netem`: the kernel's own emulator on a veth pair, where the kernel has it (tc-netem(8)).

Its delay is not calibrated: what the host adds to a round trip is in the facts, with a warning. The
queue of netem also holds packets on their way, so its limit is for both together, and counts
packets: short ones fill it sooner. With jitter and without a bandwidth, netem lets packets overtake
each other.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction

from msgspec.structs import replace

from tinygram_bench._native import (
    CALIBRATION_BITS_PER_S,
    CALIBRATION_DELAY_NS,
    ETHERNET_BYTES,
    PING_PONG_BYTES,
)
from tinygram_bench.links.backends.veth import make_pair
from tinygram_bench.links.facts import facts_of, round_trip_facts
from tinygram_bench.links.hosts import Host, Hosts, two_hosts
from tinygram_bench.links.link import Link
from tinygram_bench.links.sandbox import Permission
from tinygram_bench.links.spec import LinkSpec, parse_link
from tinygram_bench.links.traffic import TrafficMeter
from tinygram_bench.processes.interrupts import INTERRUPTS
from tinygram_bench.processes.workers import RunError

_FRAME_HEADER_BYTES = 14
"""The part of ETHERNET_BYTES that netem already counts."""
_MOST_PACKETS = 1_000_000
_LIMIT_S = 10.0


def probe() -> Permission:
    """Try to delay a device in a throwaway namespace."""
    for program in ("tc", "ip"):
        if shutil.which(program) is None:
            return Permission(False, f"{program}(8) is not installed", "install iproute2")
    try:
        with two_hosts() as hosts:
            make_pair(hosts, 1_500)
            _cut_segments(hosts)
            _set_netem(hosts, "add", parse_link("rtt=1ms"))
    except (OSError, RunError) as error:
        return Permission(
            False,
            f"the kernel offers no netem ({getattr(error, 'strerror', error)})",
            "load it with `modprobe sch_netem`, or use a kernel with CONFIG_NET_SCH_NETEM",
        )
    return Permission(True, "with veth pairs")


@contextmanager
def up(spec: LinkSpec, _seed: int) -> Iterator[Link]:
    """Two hosts, a veth pair, and netem at both of its ends. Raises OSError and RunError."""
    with ExitStack() as stack:
        with INTERRUPTS.held():
            hosts = stack.enter_context(two_hosts())
            make_pair(hosts, spec.mtu_bytes)
            _cut_segments(hosts)
            short = ping_pong_spec(spec)
            _set_netem(hosts, "add", short)
        found = {"asked_rtt_ns": ping_pong_rtt_ns(short)} | round_trip_facts(hosts)
        with INTERRUPTS.held():
            _set_netem(hosts, "change", spec)
        facts = facts_of(
            spec, backend="netem", device="veth", queue_packets=_limit_packets(spec), found=found
        )
        meter = TrafficMeter(lambda: _counters(hosts, spec) | hosts.device_counters())
        yield Link.between(hosts, facts, meter.take)


def ping_pong_spec(spec: LinkSpec) -> LinkSpec:
    """The link for a ping-pong, as with the relay: no jitter or loss, and not too long or slow."""
    bits_per_s = spec.bandwidth_bits_per_s
    return replace(
        spec,
        rtt_ns=min(spec.rtt_ns, 2 * CALIBRATION_DELAY_NS),
        bandwidth_bits_per_s=bits_per_s and max(bits_per_s, CALIBRATION_BITS_PER_S),
        jitter_ns=0,
        loss=Fraction(0),
    )


def ping_pong_rtt_ns(spec: LinkSpec) -> int:
    """The round trip that `round_trip_facts` should find, in ns."""
    if spec.bandwidth_bits_per_s is None:
        return spec.rtt_ns
    bits = (PING_PONG_BYTES + ETHERNET_BYTES) * 8
    return spec.rtt_ns + 2 * bits * 1_000_000_000 // spec.bandwidth_bits_per_s


def netem_options(spec: LinkSpec) -> list[str]:
    """The words of `tc qdisc add dev DEVICE root` for one direction.

    Our jitter only adds to a delay; netem's varies both ways, so half of it goes to the delay.
    """
    one_way_us = (spec.rtt_ns / 2 + spec.jitter_ns / 2) / 1e3
    words = ["netem", "limit", str(_limit_packets(spec)), "delay", f"{one_way_us:.3f}us"]
    if spec.jitter_ns:
        words.append(f"{spec.jitter_ns / 2e3:.3f}us")
    if spec.loss:
        words += ["loss", "random", f"{float(spec.loss) * 100:.10g}%"]
    if spec.bandwidth_bits_per_s is not None:
        overhead = ETHERNET_BYTES - _FRAME_HEADER_BYTES
        words += ["rate", f"{spec.bandwidth_bits_per_s}bit", str(overhead)]
    return words


def _limit_packets(spec: LinkSpec) -> int:
    if spec.bandwidth_bits_per_s is None:
        return _MOST_PACKETS
    one_way_ns = spec.rtt_ns // 2 + spec.jitter_ns
    on_the_way_bytes = spec.bandwidth_bits_per_s * one_way_ns // 8_000_000_000
    packets = (on_the_way_bytes + spec.queue_bytes) // (spec.mtu_bytes + ETHERNET_BYTES)
    return min(max(packets, 1), _MOST_PACKETS)


def _cut_segments(hosts: Hosts) -> None:
    """Limit offload to one segment: netem would delay several as one frame, to be cut later."""
    for host in (hosts.near, hosts.far):
        _run(host, ["ip", "link", "set", "dev", host.device, "gso_max_segs", "1"])


def _set_netem(hosts: Hosts, verb: str, spec: LinkSpec) -> None:
    """`add` netem to both hosts' devices, or `change` it. Raises OSError and RunError."""
    for host in (hosts.near, hosts.far):
        _run(host, ["tc", "qdisc", verb, "dev", host.device, "root", *netem_options(spec)])


def _counters(hosts: Hosts, spec: LinkSpec) -> dict[str, int]:
    """The counters of netem so far, in each direction. Raises OSError and RunError.

    netem has one count for packets lost as asked and packets that found it full: it is `lost` where
    loss is asked for, `full` elsewhere.
    """
    drops = "lost" if spec.loss else "full"
    counters = {}
    for direction, host in (("near_to_far", hosts.near), ("far_to_near", hosts.far)):
        said = _run(host, ["tc", "-statistics", "-json", "qdisc", "show", "dev", host.device])
        for name, count in counts_of(said, drops).items():
            counters[f"{direction}_{name}"] = count
    return counters


def counts_of(said: str, drops: str) -> dict[str, int]:
    """The counts of a device's netem in tc's output: packets, and bytes of IP. Raises RunError."""
    try:
        [found] = (each for each in json.loads(said) if each["kind"] == "netem")
        packets, frame_bytes, dropped = (int(found[key]) for key in ("packets", "bytes", "drops"))
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"tc: what it says of netem cannot be read: {said[:100]!r}") from error
    return {
        "packets": packets,
        "bytes": frame_bytes - packets * _FRAME_HEADER_BYTES,
        drops: dropped,
    }


def _run(host: Host, words: Sequence[str]) -> str:
    """Run a program of iproute2 on a host; return its output. Raises OSError and RunError."""
    with host.network.entered():
        try:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise RunError(f"{words[0]}: not done within {_LIMIT_S:.0f} s") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise RunError(f"{words[0]}: {said[0].removeprefix('Error: ')}")
    return done.stdout
