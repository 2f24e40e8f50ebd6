"""What a run spent, by what was counted and timed in it: CPU time, and time until an arrival.

A sample of `sizes` has CPU time too, and the time of its stages.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from tinygram_bench._native import Histogram
from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, Run
from tinygram_bench.statistics.figures.runs import spread_of
from tinygram_bench.statistics.verdicts.why.account import Spent
from tinygram_bench.statistics.workloads import WORKLOADS
from tinygram_bench.statistics.workloads.sizes import TIME

CPU_PARTS = {
    "writes": "write_cpu_ns",
    "waits": "wait_cpu_ns",
    "program": "program_cpu_ns",
    "timing": "timing_cpu_ns",
}
"""Part of the CPU time of the sender, or of the server under test → its counter."""
_INSTEAD = {"unsent": {"rest"}, "unread": {"server", "server_core"}}
"""A part that waits in the kernel's queues → counted parts that include some of that wait."""
_ARRIVALS = {"fanout": "last"}
"""Workload → the histogram of the time until an arrival, where it is not that of its own time."""
_OF_A_PUBLICATION = {
    "publication_delay": ("start_delays_ns", "timed_publications"),
    "handing_over": ("handing_over_ns", "timed_publications"),
}
"""Part of the time until a publication has come to all → its counter, and what that is divided by.

`publication_delay`: from when it was due until it was begun. `handing_over`: from then until the
publisher has handed it over to all. What is left is in holds that outlast the iteration, in
buffers, on the way and at the subscribers.
"""
LEAST_SAMPLES = 20
"""The fewest samples of the kernel's queues that say how long bytes waited in them."""


def arrival_figure(workload: str) -> str:
    """The figure that `arrival_spent` takes apart."""
    if workload == "sizes":
        return TIME
    return f"{_ARRIVALS.get(workload, WORKLOADS[workload].time)}_mean_us"


def cpu_spent(case: Case, run: Run) -> Spent | None:
    """The CPU time of the sender, publisher, or server, per message; of both ends of a sample.

    It has no parts where calls were not timed. None where it is not known, and of `rr`, whose CPU
    times are parts of a call.
    """
    messages = run.counters.get(WORKLOADS[case.workload].unit)
    total_ns = run.counters.get("cpu_ns")
    if case.workload == "rr" or not messages or total_ns is None:
        return None
    if case.workload == "sizes":
        return _cpu_of_a_sample(run, total_ns / messages / 1e3)
    parts_us = {
        part: ns / messages / 1e3
        for part, counter in CPU_PARTS.items()
        if (ns := run.counters.get(counter)) is not None
    }
    return Spent(total_ns / messages / 1e3, parts_us)


def arrival_spent(case: Case, run: Run) -> Spent | None:
    """The mean time until an arrival, and where it was spent; None where it was not measured.

    A flat-out stream has none: its time is that of the queue. A hold is counted per message;
    waiting in the kernel is known where its queues were sampled (`--probe`), by Little's law: bytes
    that wait ÷ bytes per second. In `fanout` it is the time until the last subscriber has a
    publication, and in `sizes` the median sample.
    """
    if case.workload == "sizes":
        return _stages_of_a_sample(case, run)
    total = _mean(run, _ARRIVALS.get(case.workload, WORKLOADS[case.workload].time))
    if total is None or (case.workload == "stream" and case.is_flat_out):
        return None
    parts_us = {}
    messages = run.counters.get(WORKLOADS[case.workload].unit)
    if case.workload == "stream" and messages:
        held = _mean(run, "hold")
        parts_us["hold"] = 0.0 if held is None else held.us * held.of / messages
        late = _mean(run, "pacing_error")
        if late is not None:
            parts_us["pacer"] = late.us
    if case.workload == "rr":
        parts_us |= _of_a_call(run)
    if case.workload == "fanout":
        parts_us |= _quotients_us(run, _OF_A_PUBLICATION)
    for part, column, rate in (
        ("unsent", "client_unsent_bytes", "client_sent_bytes"),
        ("unread", "client_receive_queue_bytes", "server_sent_bytes"),
    ):
        waited_us = _waited_us(run, column, rate)
        if waited_us is not None and not parts_us.keys() & _INSTEAD[part]:
            parts_us[part] = waited_us
    return Spent(total.us, parts_us)


def _of_a_call(run: Run) -> dict[str, float]:
    """The parts of the mean call that were counted, in µs; those that are not known are left out.

    `rest`: from the first part of a request to its last, at the server: a write that waits for an
    acknowledgement of the one before is in it. `start_delay`: at a rate, from when a call was due
    until its caller began it. `callers`, `server`: CPU time. `callers_core`,
    `server_core`: the time that they could have run and had no core, from their wake-up on.
    """
    delay = _mean(run, "start_delay")
    parts = {
        "rest": ("server_rest_ns", "server_requests"),
        "callers": ("cpu_ns", "calls"),
        "server": ("server_cpu_ns", "calls"),
        "callers_core": ("sliced_core_wait_ns", "calls"),
        "server_core": ("other_sliced_core_wait_ns", "calls"),
    }
    if delay is not None:
        # A caller that wakes up for a call that is due waits for its core in this time.
        del parts["callers_core"]
    found = {} if delay is None else {"start_delay": delay.us}
    return found | _quotients_us(run, parts)


def _stages_of_a_sample(case: Case, run: Run) -> Spent | None:
    """The medians of the whole sample and of its stages, which follow each other without a gap.

    `next_trips`: the second round trip; of more than two, all but the first, together what the
    median transfer has beyond the median first trip: some of them may wait for a delayed
    acknowledgement, and the median one not. None where the run has no samples.
    """
    asked = SizesParameters.of(case)
    medians = {
        stage: None if spread is None else spread.us("p50")
        for stage in ("connect", "setup", "first_trip", "next_trip", "transfer", "total")
        for spread in [spread_of(run, stage)]
    }
    total_us, first_us = medians["total"], medians["first_trip"]
    if total_us is None:
        return None
    parts = {"connect": medians["connect"]}
    # A setup that leaves with the first data is in the first round trip.
    parts["setup"] = 0.0 if asked.setup_writes == 1 and asked.round_trips else medians["setup"]
    if asked.round_trips:
        parts["first_trip"] = first_us
    if asked.round_trips == 2:
        parts["next_trips"] = medians["next_trip"]
    elif asked.round_trips and asked.round_trips > 2:
        transfer_us = medians["transfer"]
        if transfer_us is not None and first_us is not None:
            parts["next_trips"] = transfer_us - first_us
    found = {name: us for name, us in parts.items() if us is not None}
    return Spent(total_us, found, tuple(run.slices.get(TIME, ())))


def _cpu_of_a_sample(run: Run, client_us: float) -> Spent:
    """The CPU time of a sample, and whose it is, in µs; the client's alone has no parts.

    The server's is known where a case was alone with it. It is that of a connection, among which
    are those of the samples that are in no figure.
    """
    server = _quotients_us(run, {"server": ("server_cpu_ns", "server_connections")})
    return Spent(
        client_us + sum(server.values()), {"client": client_us, **server} if server else {}
    )


def _quotients_us(run: Run, parts: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    """Part → µs, of each part's (counter of ns, counter of units) that are both known."""
    return {
        part: ns / count / 1e3
        for part, (counter, unit) in parts.items()
        if (ns := run.counters.get(counter)) is not None and (count := run.counters.get(unit))
    }


class _Mean(NamedTuple):
    """The mean of a histogram, in µs, and the number of its values."""

    us: float
    of: int


def _mean(run: Run, name: str) -> _Mean | None:
    """The mean of a histogram's values, and how many there are; None where there are none."""
    text = run.histograms.get(f"{name}_ns")
    if text is not None and not run.figures:
        return _mean_of(text)
    spread = spread_of(run, name)
    mean_us = None if spread is None else spread.us("mean")
    return None if spread is None or mean_us is None else _Mean(mean_us, spread.count)


@lru_cache(maxsize=1 << 13)
def _mean_of(text: str) -> _Mean | None:
    """The same of a histogram in base64, cached: each pair of a case asks for it again."""
    histogram = Histogram.from_base64(text)
    return _Mean(histogram.mean_ns / 1e3, histogram.count) if histogram.count else None


def _waited_us(run: Run, queue: str, sent: str) -> float | None:
    """How long a byte waited in a queue on average, in µs; `sent`: the bytes that went through it.

    None where the queue was not sampled often enough, or connections ended meanwhile.
    """
    samples = run.samples
    if samples is None or not {queue, sent} <= samples.columns.keys():
        return None
    times_ns, through = samples.columns["at_ns"], samples.columns[sent]
    if len(times_ns) < LEAST_SAMPLES:
        return None
    is_growing = all(before <= after for before, after in pairwise(through))
    gone, lasted_ns = through[-1] - through[0], times_ns[-1] - times_ns[0]
    if not is_growing or gone <= 0 or lasted_ns <= 0:
        return None
    return fmean(samples.columns[queue]) / (gone / lasted_ns) / 1e3
