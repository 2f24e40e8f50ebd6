"""Plans of `tinygram sizes` from a few options, the others as small as they can be."""

from __future__ import annotations

from typing import Any

from tinygram_bench.model.result import Plan
from tinygram_bench.workloads.sizes.cases import SizesOptions, plan_sizes

ROUNDS = 7


def planned(**changes: Any) -> Plan:
    options: dict[str, Any] = {
        "sizes_bytes": [1, 1_000, 1_000_000],
        "round_trips": [0, 1, 2],
        "setup_writes": [2],
        "strategies": ["nodelay"],
        "samples": 100,
        "first_samples": 10,
        "predicted_bytes": [],
        "server": None,
        "has_local": False,
        "congestion_control": "cubic",
        "link": "loopback",
        "placement": "none",
        "timeout_ns": 1_000_000_000,
        "rounds": ROUNDS,
        "seed": 1,
    }
    return plan_sizes(SizesOptions(**(options | changes)))
