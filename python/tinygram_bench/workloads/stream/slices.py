"""What each slice of a stream says: the values that comparisons are made of.

Also how long its last messages may be on their way.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from statistics import fmean

from msgspec import Struct

from tinygram_bench import _native
from tinygram_bench.links.spec import LOOPBACK, parse_link
from tinygram_bench.loads.source import BURST_MESSAGES
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Case
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.runs.slice_figures import (
    Values,
    counters_of,
    cpu_us_of_one,
    late_us,
    percentiles_us,
)
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.statistics.workloads.loads import is_limit
from tinygram_bench.ways import runtimes
from tinygram_bench.workloads.stream.order import Heard, Order, Report

_LEAST_QUEUED = 12.5
"""Timed messages in a slice, by which blocks are made: flat out, every 64th message is timed."""
_DELAYED_ACK_NS = 45_000_000
"""An acknowledgement may be delayed for 40 ms, and a tick."""
_ACKNOWLEDGED_NS = 50_000
"""On loopback, an acknowledgement that is not delayed takes less than this."""
_POISSON_DEVIATIONS = 3
"""A Poisson distribution is unlikely to exceed its mean by this many standard deviations."""
_LEAST_FULL_BYTES = 524
"""Linux takes no smaller segment for a full one: 536 bytes (TCP_MSS_DEFAULT), of which time stamps
take 12."""
_CORKED_NS = 220_000_000
"""Data that is corked flat out leaves after 200 ms (tcp(7)), a round trip, and a few ticks."""
_QUEUED_NS = 10_000_000
"""The time in which the slowest sender behind a queue takes what is in it, 200 messages, and a
receiver takes what a native sender has put into the socket's buffers."""
_UNSENT = 3
"""A send buffer grows to at most this many times what is on its way (tcp_sndbuf_expand in Linux:
2)."""


class Found(Struct, frozen=True):
    """All latencies or queueing times, figure → its value in each slice or block, and counters.

    `early_ns`: by how much a message came before it was due, or handed over, at most.
    """

    histograms: dict[str, _native.Histogram]
    figures: dict[str, Values]
    counters: dict[str, int | None]
    early_ns: int


def paced_in_slices(
    order: Order, report: Report, pool: _native.MessagePool, heard: Heard, used: Used
) -> Found:
    """What the slices of a paced stream say. Raises ValueError where the notes do not match.

    Where the pacer sleeps, there are also latencies without the pacer's lateness with each message.
    """
    pace, slices = order.pace, order.slices
    assert pace is not None, "it is paced"
    assert slices is not None, "it took turns"

    def matched(
        pacer_late_ns: Sequence[int] | None,
    ) -> tuple[_native.Histogram, list[list[int]], list[tuple[int, int]], int]:
        return _native.match_sliced(
            heard.notes,
            pool,
            order.warm_up,
            report.start_ns,
            pace.rate_per_s,
            pace.arrival,
            pace.burst,
            pace.duration_ns,
            pace.seed,
            slices.native,
            heard.turns if order.has_turns else None,
            pacer_late_ns,
            heard.bound_ns,
        )

    latency, latencies_ns, whole, early_ns = matched(None)
    histograms = {"latency_ns": latency}
    # By the rate, and not by what came, so that every case of the load has the same blocks.
    per_slice = pace.rate_per_s * (slices.slice_ns - slices.settling_ns) / 1e9
    spun_ns = report.spin_cpu_ns_by_slice
    errors_us = percentiles_us("pacing_error", report.pacing_errors_ns_by_slice, per_slice)
    figures = percentiles_us("latency", latencies_ns, per_slice) | {
        **errors_us,
        "cpu_s_per_million": tuple(
            None if used_ns is None or not due else (used_ns - spun) / 1e3 / due
            for used_ns, spun, (due, _) in zip(used.by_whole_slice, spun_ns, whole, strict=True)
        ),
    }
    if pace.sleeps:
        histograms["net_latency_ns"], net_ns, _, net_early_ns = matched(report.late_ns)
        early_ns = max(early_ns, net_early_ns)
        figures |= percentiles_us("net_latency", net_ns, per_slice)
        figures["net_latency_mean_us"] = _means_us(net_ns)
    late_ns = [late_ns for _, late_ns in whole]
    figures |= late_us(late_ns)
    counters = counters_of(used)
    return Found(histograms, figures, counters, early_ns)


def flat_out_in_slices(
    order: Order,
    report: Report,
    pool: _native.MessagePool,
    heard: Heard,
    used: Used,
    hand_overs: Sequence[Sequence[tuple[int, int]]],
    on_way_ns: int,
) -> Found:
    """What the slices of a flat-out stream say.

    `hand_overs`: for each producer every 64th message, and when it was handed over. `on_way_ns`:
    how long a message is on the link. Raises ValueError where the notes do not match.
    """
    slices = order.slices
    assert slices is not None, "it took turns"
    middle_ns = (slices.settling_ns + on_way_ns, slices.open_ns + on_way_ns)
    queueing, queueing_ns, middles, early_ns = _native.match_flat_out_sliced(
        heard.notes,
        pool,
        [each for of_one in hand_overs for each in of_one],
        report.start_ns,
        slices.native,
        middle_ns,
        heard.turns if order.has_turns else None,
        heard.bound_ns,
    )
    lasting_ns = middle_ns[1] - middle_ns[0]
    handed_over = _handed_over(hand_overs, report, slices)
    figures = percentiles_us("queueing", queueing_ns, _LEAST_QUEUED) | {
        "throughput_per_s": tuple(count / lasting_ns * 1e9 for count, _ in middles),
        "queueing_mean_us": _means_us(queueing_ns),
        "cpu_s_per_million": cpu_us_of_one(used, handed_over),
    }
    late_ns = [late_ns for _, late_ns in middles]
    figures |= late_us(late_ns)
    counters = counters_of(used) | {
        "middle_messages": sum(count for count, _ in middles),
        "middle_ns": lasting_ns * len(middles),
    }
    return Found({"queueing_ns": queueing}, figures, counters, early_ns)


def _means_us(by_slice_ns: Sequence[Sequence[int]]) -> Values:
    return tuple(fmean(each) / 1e3 if each else None for each in by_slice_ns)


def _handed_over(
    hand_overs: Sequence[Sequence[tuple[int, int]]], report: Report, slices: Slices
) -> list[int]:
    """How many messages were handed over in each slice, flat out; every 64th is noted."""
    counts = [0] * len(slices.begins_ns)
    for of_one, count in zip(hand_overs, report.handed_over, strict=True):
        times_ns = [at_ns for _, at_ns in of_one]
        for slice, begin_ns in enumerate(slices.begins_ns):
            begin_ns += report.start_ns
            first = bisect_left(times_ns, begin_ns)
            past = bisect_left(times_ns, begin_ns + slices.slice_ns, lo=first)
            counts[slice] += min(past * BURST_MESSAGES, count) - first * BURST_MESSAGES
    return counts


def waits_ns(case: Case) -> int:
    """How many ns messages may be on their way after a slice, beside their time on this host."""
    return _waits_ns(case, is_delayed=not _is_acknowledged_at_once(case))


def waits_elsewhere_ns(case: Case) -> int:
    """The same to another host, without the round trip to that host."""
    return _waits_ns(case, is_delayed=True)


def _waits_ns(case: Case, *, is_delayed: bool) -> int:
    """`is_delayed`: acknowledgements may be delayed."""
    link = parse_link(case.link)
    strategy = parse_strategy(case.strategy)
    # Nagle's algorithm waits a round trip for an acknowledgement.
    waits_ns = 2 * link.rtt_ns + 2 * link.jitter_ns + (strategy.duration_ns or 0)
    if strategy.name == "nagle" and is_delayed and not is_pushed_out(case):
        waits_ns += _DELAYED_ACK_NS
    if case.is_flat_out and strategy.name == "cork":
        waits_ns += _CORKED_NS
    if case.is_flat_out and (case.runtime in runtimes.HANDING_OVER or is_limit(case)):
        waits_ns += _QUEUED_NS
    if case.is_flat_out and link.bandwidth_bits_per_s is not None:
        on_link_bits = link.bandwidth_bits_per_s * link.rtt_ns / 1e9 + 8 * link.queue_bytes
        waits_ns += round(_UNSENT * on_link_bits / link.bandwidth_bits_per_s * 1e9)
    return waits_ns


def is_pushed_out(case: Case) -> bool:
    """Whether Nagle's algorithm withholds nothing of a case between its slices.

    Flat out no message is known to be a slice's last, and one of several producers does not know.
    """
    is_asked = StreamParameters.of(case).study.pushes_out and case.rate_per_s is not None
    return is_asked and case.strategy == "nagle" and case.producers == case.connections == 1


def _is_acknowledged_at_once(case: Case) -> bool:
    """Whether no acknowledgement is delayed: our receiver empties the connection's buffer at each
    read, and Linux then acknowledges a segment at once (tcp_cleanup_rbuf).

    Linux does not do so where it may take a segment for a full one (tcp_measure_rcv_mss), nor for
    an end that has sent data itself, as in a TLS handshake. So this holds only on loopback, in
    plaintext, with one message at a time, and where the messages that join behind one under way are
    few and small.
    """
    asked = StreamParameters.of(case)
    is_ours = asked.receiver_command is None and not asked.tls and case.link == LOOPBACK
    if not is_ours or case.rate_per_s is None or case.arrival == "onoff" or case.burst != 1:
        return False
    joining = case.rate_per_s * _ACKNOWLEDGED_NS / 1e9
    if case.arrival == "poisson":
        joining += _POISSON_DEVIATIONS * math.sqrt(joining)
    return case.message_bytes.max * (1 + joining) < _LEAST_FULL_BYTES
