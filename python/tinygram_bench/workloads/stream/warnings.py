"""The warnings on a stream's figures that one run shows.

The pacer's own error is set against the latency of all rounds, in bench/statistics.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygram_bench.links import parse_link
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Case, Warning
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.run.workload import strangers_told

_MOST_BEHIND = 0.01
"""Share of the schedule's duration: a sender that is later cannot keep up with the rate."""


_MOST_OVERRUN = 0.1
"""Share of the slices that may reach into the next case's."""
_MOST_AT_REST = 0.02
"""CPU time between its slices, as a share of the time that a case has in its slices."""


def warnings_of(
    case: Case, counters: dict[str, int | None], *, has_private_network: bool
) -> tuple[Warning, ...]:
    warnings = []
    if counters["writes"] is None:
        warnings.append(Warning("writes_not_counted", "the write-counting library did not load"))
    if counters["retransmits"]:
        warnings.append(
            Warning("retransmits", f"segments retransmitted: {counters['retransmits']}")
        )
    warnings.extend(strangers_told(counters))
    if not has_private_network:
        warnings.append(
            Warning(
                "host_network",
                "the run shared the host's network (a private one needs CAP_SYS_ADMIN): the "
                "kernel's counters are not known",
            )
        )
    warnings.extend(_slices_told(case, counters))
    behind_ns = _behind_ns(case, counters)
    duration_ns = StreamParameters.of(case).duration_ns
    if isinstance(duration_ns, int) and behind_ns > _MOST_BEHIND * duration_ns:
        warnings.append(
            Warning(
                "fell_behind",
                f"the last message arrived {behind_ns / 1e6:.1f} ms after it was due: this rate is "
                "above what the sender can send, or something stopped it",
                ("latency_",),
            )
        )
    return tuple(warnings)


def _slices_told(case: Case, counters: dict[str, int | None]) -> Iterator[Warning]:
    slices, overrun = counters.get("slices"), counters.get("slices_overrun")
    if not slices:
        return
    if overrun and overrun > _MOST_OVERRUN * slices:
        yield Warning(
            "slices_overrun",
            f"in {overrun} of {slices} slices messages came after the next case's slice had begun: "
            "the rate is too high for this way, or something stopped it",
        )
    resting_ns = counters.get("resting_cpu_ns")
    used_ns = (StreamParameters.of(case).duration_ns or 0) * _MOST_AT_REST
    if resting_ns and resting_ns > used_ns:
        yield Warning(
            "not_at_rest",
            f"the sender used {resting_ns / 1e6:.1f} ms of CPU time between its slices, which the "
            "other cases of its load did not have",
        )


def _behind_ns(case: Case, counters: dict[str, int | None]) -> int:
    """Last receipt − last intended time, less the holds and delays that are intended."""
    run_time_ns, last_due_ns = counters["run_time_ns"], counters.get("last_due_ns")
    if run_time_ns is None or last_due_ns is None:
        return 0
    link = parse_link(case.link)
    # The last message's way, after the round trip of the acknowledgement that Nagle waits for.
    link_ns = link.rtt_ns // 2 + link.rtt_ns + 2 * link.jitter_ns
    return run_time_ns - last_due_ns - (parse_strategy(case.strategy).hold_ns or 0) - link_ns
