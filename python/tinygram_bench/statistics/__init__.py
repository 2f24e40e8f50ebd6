"""Statistics over runs: `summarise` each case, `compare` the cases with each other.

Laws: a pure function of the plan and the runs; no clock, no random number, no file. Failed runs are
counted and otherwise left out. Nothing is said that too few rounds or samples cannot support.
"""

from tinygram_bench.statistics.summary import summarise
from tinygram_bench.statistics.verdicts.comparison import compare

__all__ = ["compare", "summarise"]
