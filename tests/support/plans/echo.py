"""Plans of `tinygram echo` from a few options, the others as small as they can be."""

from __future__ import annotations

from typing import Any

from tinygram_bench.model.result import Plan
from tinygram_bench.workloads.echo.cases import EchoOptions, plan_echo


def planned(*only: str, **changes: Any) -> Plan:
    options: dict[str, Any] = {
        "message_bytes": [1_000],
        "workers": 5,
        "depth": 1,
        "reply": "per-read",
        "buffers_bytes": [64 << 10],
        "messages": None,
        "duration_ns": 500_000_000,
        "fault": None,
        "external": None,
        "congestion_control": "cubic",
        "link": "loopback",
        "placement": "none",
        "timeout_ns": 1_000_000_000,
        "rounds": 3,
        "seed": 1,
        "has_all": False,
        "only": only,
    }
    return plan_echo(EchoOptions(**(options | changes)))
