"""What a reader of a stream's figures must know, found in one run.

The pacer's own error is set against the latency of all rounds, in bench/statistics.
"""

from __future__ import annotations

from tinygram.bench.result import Case, Warning

_MOST_BEHIND = 0.01
"""Of the schedule's duration: a sender that is later than this cannot keep up with the rate."""


def warnings_of(case: Case, counters: dict[str, int | None]) -> tuple[Warning, ...]:
    """Every warning of one run."""
    warnings = []
    if counters["writes"] is None:
        warnings.append(Warning("writes_not_counted", "the write-counting library did not load"))
    if counters["retransmits"]:
        warnings.append(
            Warning("retransmits", f"{counters['retransmits']} segments were sent again")
        )
    behind_ns = counters.get("last_pacing_error_ns") or 0
    duration_ns = case.parameters.get("duration_ns")
    if isinstance(duration_ns, int) and behind_ns > _MOST_BEHIND * duration_ns:
        warnings.append(
            Warning(
                "fell_behind",
                f"the sender ended {behind_ns / 1e6:.1f} ms behind its schedule: this rate is "
                "above what it can send",
                ("latency_",),
            )
        )
    return tuple(warnings)
