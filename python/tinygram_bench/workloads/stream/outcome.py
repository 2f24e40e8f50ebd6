"""The outcome of a run of `stream`: every byte accounted for, messages matched to notes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

import msgspec

from tinygram_bench import _native
from tinygram_bench.load.source import BURST_MESSAGES, message_pool
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Case, Run
from tinygram_bench.processes.workers import RunError
from tinygram_bench.run.slices import Used
from tinygram_bench.workloads.stream.order import Heard, Order, Report
from tinygram_bench.workloads.stream.slices import sliced
from tinygram_bench.workloads.stream.warnings import warnings_of

_Counter = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


def assembled(
    case: Case,
    round: int,
    order: Order,
    report: Report,
    counters: dict[str, int | None],
    heard: Heard,
    used: Used | None = None,
) -> Run:
    """Check that every byte is accounted for, match messages to notes, and add up.

    The notes are not trusted: no read can be later than now, when the receiver has ended. `used`:
    the CPU time in slices. Raises RunError.
    """
    collected_ns = time.monotonic_ns()
    slices: dict[str, tuple[float | None, ...]] = {}
    pool = message_pool(order.seed, order.min_bytes, order.max_bytes, order.producers)
    warm_up_bytes = pool.stream_bytes(order.warm_up)
    stream_bytes = pool.stream_bytes(order.warm_up + order.messages)
    try:
        reads, noted_bytes, last_ns = _native.read_notes(heard.notes, report.start_ns)
        if last_ns > collected_ns:
            late_ns = last_ns - collected_ns
            raise RunError(f"the receiver noted a read {late_ns} ns after its notes were collected")
        if noted_bytes != stream_bytes:
            raise RunError(f"the receiver noted {noted_bytes} of the {stream_bytes} bytes")
        written_bytes = counters["written_bytes"]
        if written_bytes is not None and written_bytes != stream_bytes - warm_up_bytes:
            raise RunError(
                f"the counted writes hold {written_bytes} bytes, the measured stream "
                f"{stream_bytes - warm_up_bytes}"
            )
        if StreamParameters.of(case).receiver_command is None and (
            counters["peer_port"] != report.local_port
        ):
            raise RunError("another program's connection reached the receiver")
        if used is None:
            matched = _matched(order, report, pool, heard)
        else:
            found = sliced(order, report, pool, heard, used)
            matched, slices = {"latency_ns": found.latency}, found.figures
            counters |= found.counters
    except ValueError as error:
        raise RunError(f"notes and messages do not match: {error}") from error
    counters |= {
        "messages": order.messages,
        "bytes": stream_bytes - warm_up_bytes,
        "run_time_ns": last_ns - report.start_ns,
        "reads": reads,
    }
    histograms = report.histograms | {
        name: histogram.to_base64() for name, histogram in matched.items()
    }
    warnings = warnings_of(case, counters, has_private_network=order.counter_fds is not None)
    return Run(case.case_id, round, counters, histograms, warnings, slices=slices)


def _matched(
    order: Order, report: Report, pool: _native.MessagePool, heard: Heard
) -> dict[str, _native.Histogram]:
    """Latency from the intended time, where there is one, and queueing from the hand-over.

    Where the pacer sleeps, also the latency without the pacer's lateness with each message.
    """
    pace = order.pace
    turns = None if order.producers == 1 else heard.turns
    histograms = {}
    if pace is None or order.producers > 1:
        hand_overs = list(zip(_handed_over(order), report.hand_overs_ns, strict=True))
        queueing = _native.match_flat_out(heard.notes, pool, hand_overs, turns)
        _check_count(queueing, len(hand_overs))
        histograms["queueing_ns"] = queueing
    if pace is not None:
        late_ns: dict[str, Sequence[int] | None] = {"latency_ns": None}
        if pace.sleeps:
            late_ns["net_latency_ns"] = report.late_ns
        for name, off_ns in late_ns.items():
            latency = _native.match_paced(
                heard.notes,
                pool,
                order.warm_up,
                report.start_ns,
                pace.rate_per_s,
                pace.arrival,
                pace.burst,
                pace.duration_ns,
                pace.seed,
                turns,
                off_ns,
            )
            _check_count(latency, order.messages)
            histograms[name] = latency
    return histograms


def _handed_over(order: Order) -> list[int]:
    """The messages whose hand-over the sender notes, producer by producer."""
    last = order.warm_up + order.messages
    step = order.producers * (BURST_MESSAGES if order.pace is None else 1)
    firsts = range(order.warm_up, order.warm_up + order.producers)
    return [index for first in firsts for index in range(first, last, step)]


def _check_count(histogram: _native.Histogram, messages: int) -> None:
    if histogram.count != messages:
        raise RunError(
            f"the receiver reports the turns of {histogram.count} of {messages} messages"
        )


def received_counters(line: bytes) -> dict[str, int]:
    """The receiver's counters: the line of JSON after `listening PORT`."""
    try:
        return msgspec.json.decode(line, type=dict[str, _Counter])
    except ValueError as error:
        shown = line[:100].decode(errors="replace")
        raise RunError(
            f"the receiver's report {shown!r} is not a JSON object of whole numbers: {error}"
        ) from error
