"""Where the time until the last subscriber of `fanout` has a publication was spent."""

from __future__ import annotations

from tinygram_bench.model.result import Case, Run
from tinygram_bench.statistics.figures.spent import Spent, mean_time, quotients_us

_PARTS = {
    "publication_delay": ("start_delays_ns", "timed_publications"),
    "handing_over": ("handing_over_ns", "timed_publications"),
}
"""Part of that time → its counter, and what that is divided by.

`publication_delay`: from when it was due until it was begun. `handing_over`: from then until the
publisher has handed it over to all. What is left is in holds that outlast the iteration, in
buffers, on the way and at the subscribers.
"""


def arrival_spent(_case: Case, run: Run) -> Spent | None:
    """The mean time until the last subscriber has a publication, and its parts."""
    return mean_time(run, "last", quotients_us(run, _PARTS))
