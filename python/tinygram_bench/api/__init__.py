"""Measuring from Python: `Plan`, `run`, `load`, `compare`, as `from tinygram_bench import …` does.

A plan is made by the very functions that the command line calls, so options, defaults, checks and
the texts of errors are the same. Options have the types that these functions take: durations are
whole nanoseconds, sizes are bytes, and rates are messages per second.
"""

from tinygram_bench.api.comparisons import Comparison, compare
from tinygram_bench.api.plans import Plan, run
from tinygram_bench.api.results import Result, load

__all__ = ["Comparison", "Plan", "Result", "compare", "load", "run"]
