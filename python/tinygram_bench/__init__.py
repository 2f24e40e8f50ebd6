"""The bench: measures every way of sending small messages over TCP, side by side.

A package of its own, tinygram-bench. It may import the library (`tinygram`); the library never
imports it. `from tinygram_bench import Plan, run, load` measures from Python (api/).
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Plan", "Result", "load", "run"]


def __getattr__(name: str) -> Any:
    """One of `__all__`, imported when it is first asked for: a measured process needs none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("tinygram_bench.api"), name)
