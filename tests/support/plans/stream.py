"""Plans of `tinygram stream` from a few options, the others as small as they can be."""

from __future__ import annotations

from typing import Any

from tinygram_bench.host.network.settings import permitted_congestion_control
from tinygram_bench.model.result import MessageBytes, Plan
from tinygram_bench.workloads.stream.cases import StreamOptions, plan_stream


def planned(*only: str, **changes: Any) -> Plan:
    options: dict[str, Any] = {
        "messages": 1_000,
        "message_bytes": MessageBytes(1, 500),
        "rates_per_s": [],
        "arrival": "constant",
        "burst": 1,
        "duration_ns": 1_000_000_000,
        "receive_buffer_bytes": 1 << 18,
        "receiver_command": None,
        "congestion_control": permitted_congestion_control(None),
        "link": "loopback",
        "placement": "none",
        "timeout_ns": 1_000_000_000,
        "rounds": 3,
        "seed": 1,
        "has_all": False,
        "only": only,
    }
    return plan_stream(StreamOptions(**(options | changes)))
