"""What was counted of a case, per message: evidence beside the parts of an account."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, median

from msgspec import Struct

from tinygram_bench.model.result import Case, Run
from tinygram_bench.statistics.workloads import WORKLOADS
from tinygram_bench.statistics.workloads.loads import alternates


class Evidence(Struct, frozen=True):
    """Medians over the rounds; None where a count is not known in each of them.

    Per message, call or sample: `writes`, `waits`, `segments` with data. Shares: `unsent_time`, of
    the time until an arrival, for which bytes waited in the kernel to be sent; `unsent_samples`, of
    the samples in which the kernel held bytes that it had not sent; `unsent_writes`, of the writes
    after which the kernel held such bytes; of the segments with data that the near host sent over a
    link, those that left `after_arrival`, within 0.1 ms after a packet came in, and those that left
    `alone`, when all data before had been acknowledged. Per thousand messages: `delayed_acks`, and
    `switches` to the threads that send or call, in slices.
    """

    writes: float | None
    waits: float | None
    segments: float | None
    unsent_time: float | None
    unsent_samples: float | None
    unsent_writes: float | None
    after_arrival: float | None
    alone: float | None
    delayed_acks: float | None
    switches: float | None


def evidence_of(case: Case, runs: Sequence[Run]) -> Evidence:
    """What was counted of a case; `runs`: its good runs."""
    workload = WORKLOADS[case.workload]
    unit = workload.unit

    def share(top: str, bottom: str, scale: float = 1.0) -> float | None:
        return _median(runs, lambda run: _quotient(run, top, bottom, scale))

    of_link = "link_near_to_far_data_packets"
    # The link watches what the near host sends: in reverse that is not the sender's, and of samples
    # that alternate it is all cases'.
    is_forward = getattr(case.parameters, "direction", "forward") == "forward"
    is_watched = is_forward and not alternates(case)
    return Evidence(
        writes=share("writes", unit),
        waits=share("waits", unit),
        segments=share("data_segments", unit),
        unsent_time=_median(runs, lambda run: _unsent_time(case, run)),
        unsent_samples=_median(runs, _unsent_samples),
        unsent_writes=share("unsent_writes", "writes"),
        after_arrival=share("link_near_to_far_data_after_arrival", of_link) if is_watched else None,
        alone=share("link_near_to_far_data_alone", of_link) if is_watched else None,
        delayed_acks=share(
            "kernel_DelayedACKs" if case.parameters.slice_ns is None else "sliced_delayed_acks",
            workload.unit_of_the_kernel or unit,
            1e3,
        ),
        switches=share("sliced_context_switches", unit, 1e3),
    )


def _median(runs: Sequence[Run], of: Callable[[Run], float | None]) -> float | None:
    found = [value for run in runs if (value := of(run)) is not None]
    return median(found) if found and len(found) == len(runs) else None


def _quotient(run: Run, top: str, bottom: str, scale: float) -> float | None:
    over, under = run.counters.get(top), run.counters.get(bottom)
    return None if over is None or not under else over / under * scale


def _unsent_samples(run: Run) -> float | None:
    """The share of samples in which a connection's bytes were not sent yet."""
    unsent = None if run.samples is None else run.samples.columns.get("client_unsent_bytes")
    return fmean(value > 0 for value in unsent) if unsent else None


def _unsent_time(case: Case, run: Run) -> float | None:
    spent = WORKLOADS[case.workload].arrival_spent(case, run)
    waited_us = None if spent is None else spent.parts_us.get("unsent")
    return None if spent is None or waited_us is None else waited_us / spent.total_us
