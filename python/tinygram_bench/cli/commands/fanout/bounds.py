"""The limits of what a run of `fanout` may be asked for; each error names the remedy."""

from __future__ import annotations

import math

from tinygram_bench.cli.bounds import between, check_slice, check_told
from tinygram_bench.links.spec import REMOTE
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan
from tinygram_bench.model.units import format_bytes, format_duration_ns
from tinygram_bench.workloads.fanout.cases import FanoutOptions, least_slice_ns, plan_fanout
from tinygram_bench.workloads.fanout.order import LEAST_BYTES, MOST_BYTES
from tinygram_bench.workloads.fanout.slices import LEAST_PUBLICATIONS

_MOST_DELIVERIES = 100_000_000
_MOST_BYTES_AT_ONCE = 256 << 20


def bounded(asked: FanoutOptions) -> Plan:
    """Return the plan. Raises UsageError where an instant or a run has too much, or too little."""
    most, size = max(asked.subscribers), asked.message_bytes
    between("--size", size, LEAST_BYTES, MOST_BYTES)
    if most * size * asked.burst > _MOST_BYTES_AT_ONCE:
        raise UsageError(
            f"--subscribers {most} with messages of {format_bytes(size)}: what is published at an "
            "instant may be 256 MiB to all together, so ask for fewer subscribers, smaller "
            "messages or a smaller --burst"
        )
    for each in asked.rates_per_s:
        _check_rate(each, asked.burst, asked.duration_ns, most)
    plan = plan_fanout(asked)
    if asked.slice_ns is not None:
        if asked.link == REMOTE:
            check_told("subscribers", asked.duration_ns, asked.slice_ns)
        least_ns = math.ceil(max(map(least_slice_ns, plan.cases)))
        holding = f"{LEAST_PUBLICATIONS} publications of these loads"
        check_slice(asked.slice_ns, asked.duration_ns, least_ns, holding)
    return plan


def _check_rate(rate_per_s: float, burst: int, duration_ns: int, subscribers: int) -> None:
    """Raise UsageError where a run has no whole burst, or too many messages."""
    publications = rate_per_s * duration_ns / 1e9
    messages = publications * subscribers
    if round(publications) < burst:
        raise UsageError(
            f"--rate {rate_per_s:g} for {format_duration_ns(duration_ns)} is fewer publications "
            f"than one burst of {burst}: name a longer --duration or a smaller --burst"
        )
    if messages > _MOST_DELIVERIES:
        raise UsageError(
            f"--rate {rate_per_s:g} to {subscribers} subscribers is {messages:.3g} messages "
            "in each run: 100 million are allowed, so name a lower rate, a shorter "
            "--duration or fewer subscribers"
        )
