"""What a run spent, by what was counted and timed in it: CPU time, and time until an arrival."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct

from tinygram_bench._native import Histogram
from tinygram_bench.model.result import Case, Run
from tinygram_bench.statistics.figures.spreads import spread_of

_CPU_PARTS = {
    "writes": "write_cpu_ns",
    "waits": "wait_cpu_ns",
    "program": "program_cpu_ns",
    "timing": "timing_cpu_ns",
}
"""Part of the CPU time of the sender, or of the server under test → its counter."""
_INSTEAD = {"unsent": {"rest"}, "unread": {"server", "server_core"}}
"""A part that waits in the kernel's queues → counted parts that include some of that wait."""
_LEAST_SAMPLES = 20
"""The fewest samples of the kernel's queues that say how long bytes waited in them."""


class Spent(Struct, frozen=True):
    """What one run spent on a message, call or sample, in µs: in all, and the parts that are known.

    `cycles_us`: where single samples of several cases alternate, in all in each cycle; None in a
    cycle of which that is not known.
    """

    total_us: float
    parts_us: Mapping[str, float]
    cycles_us: tuple[float | None, ...] = ()


class Mean(NamedTuple):
    """The mean of a histogram, in µs, and the number of its values."""

    us: float
    of: int


def cpu_of_a_message(_case: Case, run: Run) -> Spent | None:
    """The CPU time of the sender, publisher or server, per message; None where it is not known.

    It has no parts where calls were not timed.
    """
    messages, total_ns = run.counters.get("messages"), run.counters.get("cpu_ns")
    if not messages or total_ns is None:
        return None
    parts = {part: (counter, "messages") for part, counter in _CPU_PARTS.items()}
    return Spent(total_ns / messages / 1e3, quotients_us(run, parts))


def mean_time(run: Run, histogram: str, parts_us: Mapping[str, float]) -> Spent | None:
    """The mean time of a histogram, which has these parts; None where it was not measured."""
    total = mean_of(run, histogram)
    return None if total is None else time_spent(run, total.us, parts_us)


def time_spent(run: Run, total_us: float, parts_us: Mapping[str, float]) -> Spent:
    """A time that has these parts, and waiting in the kernel.

    That is known where the kernel's queues were sampled (`--probe`), by Little's law: bytes that
    wait ÷ bytes per second.
    """
    waits_us = {
        part: waited_us
        for part, column, rate in (
            ("unsent", "client_unsent_bytes", "client_sent_bytes"),
            ("unread", "client_receive_queue_bytes", "server_sent_bytes"),
        )
        if (waited_us := _waited_us(run, column, rate)) is not None
        and not parts_us.keys() & _INSTEAD[part]
    }
    return Spent(total_us, {**parts_us, **waits_us})


def quotients_us(run: Run, parts: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    """Part → µs, of each part's (counter of ns, counter of units) that are both known."""
    return {
        part: ns / count / 1e3
        for part, (counter, unit) in parts.items()
        if (ns := run.counters.get(counter)) is not None and (count := run.counters.get(unit))
    }


def mean_of(run: Run, name: str) -> Mean | None:
    """The mean of a histogram's values, and how many there are; None where there are none."""
    text = run.histograms.get(f"{name}_ns")
    if text is not None and not run.figures:
        return _mean_of(text)
    spread = spread_of(run, name)
    mean_us = None if spread is None else spread.us("mean")
    return None if spread is None or mean_us is None else Mean(mean_us, spread.count)


@lru_cache(maxsize=1 << 13)
def _mean_of(text: str) -> Mean | None:
    """The same of a histogram in base64, cached: each pair of a case asks for it again."""
    histogram = Histogram.from_base64(text)
    return Mean(histogram.mean_ns / 1e3, histogram.count) if histogram.count else None


def _waited_us(run: Run, queue: str, sent: str) -> float | None:
    """How long a byte waited in a queue on average, in µs; `sent`: the bytes that went through it.

    None where the queue was not sampled often enough, or connections ended meanwhile.
    """
    samples = run.samples
    if samples is None or not {queue, sent} <= samples.columns.keys():
        return None
    times_ns, through = samples.columns["at_ns"], samples.columns[sent]
    if len(times_ns) < _LEAST_SAMPLES:
        return None
    is_growing = all(before <= after for before, after in pairwise(through))
    gone, lasted_ns = through[-1] - through[0], times_ns[-1] - times_ns[0]
    if not is_growing or gone <= 0 or lasted_ns <= 0:
        return None
    return fmean(samples.columns[queue]) / (gone / lasted_ns) / 1e3
