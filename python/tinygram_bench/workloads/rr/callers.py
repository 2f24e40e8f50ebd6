"""A process of callers, `tg-callers`: it gets ready, says so, calls when told, and reports.

For each `CallOrder` it answers `Warm`, takes a `Start`, and answers a `Report` (order.py). At a
rate it takes a `Pace` before the `Start`, and answers `Ready` when it knows when its calls are due.
"""

from __future__ import annotations

import gc
import resource

from tinygram_bench import _native
from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.processes.orders import Orders, Ready, carry_out
from tinygram_bench.workloads.rr.calling import CallError, prepared
from tinygram_bench.workloads.rr.order import CallOrder, Pace, Report, Start, Warm


def main() -> int:
    return carry_out("tg-callers", CallOrder, _call, (CallError,))


def _call(order: CallOrder, orders: Orders) -> None:
    raise_descriptor_limit()
    content = _native.CallContent(
        order.request_bytes,
        order.reply_bytes,
        order.seed,
        has_any_replies=not order.checks_replies,
    )
    callers = prepared(order, content)
    gc.collect()
    gc.freeze()
    orders.say(Warm(callers.warm_up_call_ns))
    if order.is_at_a_rate:
        pace = orders.hear(Pace)
        if pace is None:
            return
        callers.keep_to(pace.book(order.callers))
        orders.say(Ready())
    start = orders.hear(Start)
    if start is None:
        return
    before = resource.getrusage(resource.RUSAGE_SELF)
    tally = callers.run(start)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    counters = tally.counters() | {
        "cpu_ns": round(cpu_s * 1e9),
        "voluntary_context_switches": after.ru_nvcsw - before.ru_nvcsw,
        "involuntary_context_switches": after.ru_nivcsw - before.ru_nivcsw,
    }
    orders.say(Report(counters, tally.histograms(), tuple(tally.slices)))
