"""The bench: measures every way of sending small messages over TCP, side by side.

It is a package of its own, tinygram-bench. It may import the library (`tinygram`); the library
never imports the bench. `from tinygram_bench import Plan, run, load, compare` measures from Python
(api/).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tinygram_bench.api import Comparison, Plan, Result, compare, load, run

__all__ = ["Comparison", "Plan", "Result", "compare", "load", "run"]


def __getattr__(name: str) -> Any:
    """A name of `__all__`, imported when first asked for: measured processes need none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("tinygram_bench.api"), name)
