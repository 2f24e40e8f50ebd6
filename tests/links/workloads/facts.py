"""The facts of one link, and of others that differ in little."""

from __future__ import annotations

from typing import Any

from tinygram_bench.model.result import LinkFacts

FACTS: dict[str, Any] = {
    "meaning": "rtt=1ms",
    "backend": "relay",
    "device": "tun",
    "rtt_ns": 1_000_000,
    "bandwidth_bits_per_s": None,
    "jitter_ns": 0,
    "loss": 0.0,
    "queue_bytes": None,
    "mtu_bytes": 1_500,
    "device_queue_packets": 10_000,
    "has_offload": False,
    "is_rootless": False,
    "asked_rtt_ns": 1_000_000,
    "found_rtt_ns": 1_060_000,
    "left_rtt_ns": 1_001_000,
    "excess_ns": 59_000,
}


def facts(**changes: Any) -> LinkFacts:
    return LinkFacts(**(FACTS | changes))
