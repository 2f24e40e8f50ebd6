"""The library's strategies by the bench's names."""

from __future__ import annotations

import tinygram
from tinygram_bench.model.strategies import Strategy

_PLAIN = {
    "nagle": tinygram.nagle,
    "nodelay": tinygram.nodelay,
    "tick": tinygram.tick,
    "combine": tinygram.combine,
    "adaptive": tinygram.adaptive,
}


def library_strategy(strategy: Strategy) -> tinygram.Strategy:
    """The library's own value for a strategy. Raises KeyError."""
    if strategy.hold_ns is not None:
        return tinygram.coalesce(strategy.hold_ns / 1_000)
    return _PLAIN[strategy.name]
