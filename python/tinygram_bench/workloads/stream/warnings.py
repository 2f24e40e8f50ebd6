"""The warnings on a stream's figures that a single run shows.

The pacer's own error is compared with the latency of all rounds, in statistics/warnings.py.
"""

from __future__ import annotations

from tinygram_bench.links import parse_link
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Case, Warning
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.runs.slice_figures import slices_told
from tinygram_bench.statistics.figures.counters import FORMULAS
from tinygram_bench.statistics.recurring import FELL_BEHIND
from tinygram_bench.workloads.warnings import (
    MOST_BEHIND,
    host_network_told,
    retransmits_told,
    strangers_told,
    uncounted_writes_told,
)

_MOST_RECEIVING = 0.9
"""The share of its time that a receiver may be on the CPU before a warning."""


def warnings_of(
    case: Case, counters: dict[str, int | None], *, has_private_network: bool
) -> tuple[Warning, ...]:
    warnings = [
        *uncounted_writes_told(counters),
        *retransmits_told(counters["retransmits"]),
        *strangers_told(counters),
        *host_network_told(has_private_network=has_private_network),
    ]
    share = FORMULAS["receiver_cpu_share"](counters)
    if share is not None and share > _MOST_RECEIVING:
        warnings.append(
            Warning(
                "receiver_limits",
                f"the receiver, which decrypts, was on the CPU for {share:.0%} of the time: it "
                "may be what limits, and not the sender",
                ("throughput_per_s", "run_time_s", "queueing_", "latency_"),
            )
        )
    duration_ns = StreamParameters.of(case).duration_ns
    warnings.extend(slices_told(duration_ns or 0, counters, "the sender", "the receiver"))
    behind_ns = _behind_ns(case, counters)
    # In slices each slice is judged (runs/overruns.py); here only the last one would be.
    is_alone = case.parameters.slice_ns is None
    if is_alone and duration_ns is not None and behind_ns > MOST_BEHIND * duration_ns:
        warnings.append(
            Warning(
                FELL_BEHIND,
                f"the last message arrived {behind_ns / 1e6:.1f} ms after it was due: this rate is "
                "above what the sender can send, or something stopped it",
                ("latency_",),
            )
        )
    return tuple(warnings)


def _behind_ns(case: Case, counters: dict[str, int | None]) -> int:
    """Last receipt − last intended time, less the intended holds and delays, in ns."""
    run_time_ns, last_due_ns = counters["run_time_ns"], counters.get("last_due_ns")
    if run_time_ns is None or last_due_ns is None:
        return 0
    link = parse_link(case.link)
    # The last message's way, after the round trip of the acknowledgement for which Nagle waits.
    link_ns = link.rtt_ns // 2 + link.rtt_ns + 2 * link.jitter_ns
    return run_time_ns - last_due_ns - (parse_strategy(case.strategy).duration_ns or 0) - link_ns
