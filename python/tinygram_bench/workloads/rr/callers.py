"""A process of callers, `tg-callers`: gets ready, says so, calls when told, and reports.

Lines of JSON (order.py): it takes a CallOrder, answers `ready`, takes a Start, answers a Report. A
failure is the last line on stderr, and exit status 1.
"""

from __future__ import annotations

import gc
import os
import resource
import sys

import msgspec

from tinygram_bench import _native
from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.processes.attached import settle
from tinygram_bench.workloads.rr.calling import CallError, prepared
from tinygram_bench.workloads.rr.order import CallOrder, Report, Start

READY = b"ready"


def main() -> int:
    """Call as told; the process ends with status 1 when a call failed."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=CallOrder)
    settle("tg-callers", order.parent_pid, order.cpu)
    raise_descriptor_limit()
    try:
        content = _native.CallContent(
            order.request_bytes,
            order.reply_bytes,
            order.seed,
            has_any_replies=not order.checks_replies,
        )
        callers = prepared(order, content)
        gc.collect()
        gc.freeze()
        _say(READY)
        line = sys.stdin.buffer.readline()
        if not line:
            return 0
        before = resource.getrusage(resource.RUSAGE_SELF)
        tally = callers.run(msgspec.json.decode(line, type=Start))
        after = resource.getrusage(resource.RUSAGE_SELF)
    except (CallError, OSError, MemoryError) as failure:
        print(failure, file=sys.stderr, flush=True)
        # At once: tasks that end with the interpreter would speak after it.
        os._exit(1)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    counters = tally.counters() | {
        "cpu_ns": round(cpu_s * 1e9),
        "voluntary_context_switches": after.ru_nvcsw - before.ru_nvcsw,
        "involuntary_context_switches": after.ru_nivcsw - before.ru_nivcsw,
    }
    histograms = {"call_ns": tally.call.to_base64(), "connect_ns": tally.connect.to_base64()}
    _say(msgspec.json.encode(Report(counters, histograms)))
    return 0


def _say(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
