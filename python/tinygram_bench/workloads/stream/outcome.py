"""The outcome of a run of `stream`: every byte accounted for, messages matched to notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from tinygram_bench import _native
from tinygram_bench.links import parse_link
from tinygram_bench.loads.source import BURST_MESSAGES, message_pool
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Case, Run
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.slices import Used
from tinygram_bench.ways.rows import KERNEL_TLS
from tinygram_bench.workloads.stream.order import Heard, Order, Report
from tinygram_bench.workloads.stream.slices import flat_out_in_slices, paced_in_slices
from tinygram_bench.workloads.stream.warnings import warnings_of

_Counter = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


def assembled(
    case: Case,
    round: int,
    order: Order,
    report: Report,
    counters: dict[str, int | None],
    heard: Heard,
    collected_ns: int,
    used: Used | None = None,
    *,
    has_private_network: bool,
) -> Run:
    """Check that every byte is accounted for, match messages to notes, and put the run together.

    All times are of one clock, or were converted to one. The notes are not trusted: no read may be
    later than `collected_ns`, when the receiver had ended. `used`: the CPU time in slices. Raises
    RunError.
    """
    slices: dict[str, tuple[float | None, ...]] = {}
    pool = message_pool(
        order.seed, order.min_bytes, order.max_bytes, order.producers, order.connections
    )
    warm_up_bytes = pool.stream_bytes(order.warm_up)
    of_each = _messages_of_each(order, report)
    try:
        reads, noted_bytes, last_ns = _native.read_notes(heard.notes, report.start_ns)
        stream_bytes = noted_bytes
        if order.producers > 1 and order.ends_with_slices:
            _check_turns(order, of_each, heard)
        else:
            stream_bytes = pool.stream_bytes(order.warm_up + sum(of_each))
        late_ns = last_ns - collected_ns
        if late_ns > heard.bound_ns:
            wrong_by = f", by times that may be wrong by {heard.bound_ns} ns"
            raise RunError(
                f"the receiver noted a read {late_ns} ns after its notes were collected"
                f"{wrong_by if heard.bound_ns else ''}"
            )
        if noted_bytes != stream_bytes:
            raise RunError(f"the receiver noted {noted_bytes} of the {stream_bytes} bytes")
        written_bytes = counters["written_bytes"]
        sent_bytes = _sent_bytes(case, counters, stream_bytes - warm_up_bytes)
        if written_bytes is not None and written_bytes != sent_bytes:
            raise RunError(
                f"the counted writes hold {written_bytes} bytes, the measured stream {sent_bytes}"
            )
        if StreamParameters.of(case).receiver_command is None and (
            counters["peer_port"] != report.peer_port
        ):
            raise RunError("another program's connection reached the receiver")
        hand_overs = _hand_overs(order, report, of_each)
        if used is None:
            matched, early_ns = _matched(order, report, pool, heard, hand_overs)
        else:
            if order.pace is None:
                on_way_ns = parse_link(case.link).rtt_ns // 2
                found = flat_out_in_slices(order, report, pool, heard, used, hand_overs, on_way_ns)
            else:
                found = paced_in_slices(order, report, pool, heard, used)
            matched, slices, early_ns = found.histograms, found.figures, found.early_ns
            counters |= found.counters
    except ValueError as error:
        raise RunError(f"notes and messages do not match: {error}") from error
    counters |= {
        "messages": sum(of_each),
        "bytes": stream_bytes - warm_up_bytes,
        "run_time_ns": last_ns - report.start_ns,
        "reads": reads,
    }
    if heard.bound_ns:
        counters["early_ns"] = early_ns
    if order.certificate is not None:
        counters["receiving_ns"] = counters["run_time_ns"]
        if order.slices is not None:
            counters["receiving_ns"] = len(order.slices.begins_ns) * order.slices.slice_ns
    histograms = report.histograms | {
        name: histogram.to_base64() for name, histogram in matched.items()
    }
    warnings = warnings_of(case, counters, has_private_network=has_private_network)
    return Run(case.case_id, round, counters, histograms, warnings, slices=slices)


def _sent_bytes(case: Case, counters: dict[str, int | None], plain_bytes: int) -> int:
    """How many bytes the sender wrote: those of plaintext, or of all TLS records that it made."""
    wire_bytes = counters.get("wire_bytes")
    if wire_bytes is None or case.implementation == KERNEL_TLS:
        return plain_bytes
    return wire_bytes + (counters.get("closing_wire_bytes") or 0)


def _matched(
    order: Order,
    report: Report,
    pool: _native.MessagePool,
    heard: Heard,
    hand_overs: Sequence[Sequence[tuple[int, int]]],
) -> tuple[dict[str, _native.Histogram], int]:
    """Histograms: latency from the intended time, if there is one, and queueing from hand-over.

    Where the pacer sleeps, there is also the latency without the pacer's lateness with each
    message. Last: by how much a message came too early, at most.
    """
    pace = order.pace
    turns = heard.turns if order.has_turns else None
    histograms = {}
    most_early_ns = 0
    if pace is None or order.producers > 1:
        of_all = [each for of_one in hand_overs for each in of_one]
        queueing, most_early_ns = _native.match_flat_out(
            heard.notes, pool, of_all, turns, heard.bound_ns
        )
        _check_count(queueing, len(of_all))
        histograms["queueing_ns"] = queueing
    if pace is not None:
        late_ns: dict[str, Sequence[int] | None] = {"latency_ns": None}
        if pace.sleeps:
            late_ns["net_latency_ns"] = report.late_ns
        for name, off_ns in late_ns.items():
            latency, early_ns = _native.match_paced(
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
                heard.bound_ns,
            )
            _check_count(latency, order.messages)
            histograms[name] = latency
            most_early_ns = max(early_ns, most_early_ns)
    return histograms, most_early_ns


def _messages_of_each(order: Order, report: Report) -> tuple[int, ...]:
    """How many messages each producer sent, the warm-up not counted. Raises RunError."""
    of_each = _of_each(order.producers, order.warm_up, order.warm_up + order.messages)
    if not order.ends_with_slices:
        return of_each
    if len(report.handed_over) != len(of_each) or not sum(report.handed_over):
        raise RunError(f"the sender handed over {report.handed_over} messages in its slices")
    return report.handed_over


def _of_each(producers: int, first: int, past: int) -> tuple[int, ...]:
    """How many of the messages `first` … `past` − 1 each producer has, from that of `first` on."""
    return tuple(len(range(first + number, past, producers)) for number in range(producers))


def _check_turns(order: Order, of_each: Sequence[int], heard: Heard) -> None:
    """Check that as many messages of each producer came as it sent. Raises RunError."""
    for number, sent in enumerate(of_each):
        producer = (order.warm_up + number) % order.producers
        came = heard.turns.count(producer) - len(range(producer, order.warm_up, order.producers))
        if came != sent:
            raise RunError(f"{came} messages of producer {producer} came, and it sent {sent}")


def _hand_overs(
    order: Order, report: Report, of_each: Sequence[int]
) -> list[list[tuple[int, int]]]:
    """For each producer, the messages whose hand-over is noted, and the times of that, in ns.

    A single paced producer notes none: messages are handed over when they are due. Raises
    ValueError where there are more notes, or fewer.
    """
    if order.pace is not None and order.producers == 1:
        return []
    step = BURST_MESSAGES if order.pace is None else 1
    times_ns = iter(report.hand_overs_ns)
    found = []
    for number, count in enumerate(of_each):
        first = order.warm_up + number
        indices = range(first, first + count * order.producers, step * order.producers)
        found.append([(index, next(times_ns, -1)) for index in indices])
    if next(times_ns, None) is not None or any(of_one and of_one[-1][1] < 0 for of_one in found):
        raise ValueError(f"the sender noted {len(report.hand_overs_ns)} hand-overs")
    return found


def _check_count(histogram: _native.Histogram, messages: int) -> None:
    if histogram.count != messages:
        raise RunError(
            f"the receiver reports the turns of {histogram.count} of {messages} messages"
        )


def received_counters(line: bytes) -> dict[str, int]:
    """The receiver's counters, from the line of JSON after `listening PORT`. Raises RunError."""
    try:
        return msgspec.json.decode(line, type=dict[str, _Counter])
    except ValueError as error:
        shown = line[:100].decode(errors="replace")
        raise RunError(
            f"the receiver's report {shown!r} is not a JSON object of whole numbers: {error}"
        ) from error
