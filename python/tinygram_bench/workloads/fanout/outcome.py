"""The outcome of a run of `fanout`: every byte is accounted for, and warnings are added."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tinygram_bench import _native
from tinygram_bench._native import Histogram
from tinygram_bench.model.parameters import FanoutParameters
from tinygram_bench.model.result import Case, Run, Warning
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.slice_figures import Values, counters_of, slices_told
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.statistics.recurring import FELL_BEHIND
from tinygram_bench.workloads.fanout.order import Heard, PublisherOrder, Report
from tinygram_bench.workloads.fanout.slices import figures_of, middles
from tinygram_bench.workloads.warnings import (
    host_network_told,
    retransmits_told,
    shares_core,
    strangers_told,
    uncounted_writes_told,
)

_BUSY = 0.9
"""The share of the slices on the CPU above which subscribers may be the limit."""
_MOST_BEHIND = 0.01
"""A publisher that is late by more than this share of the schedule, plus the time of two
publications, cannot keep up with the rate. One publication may be due while another is on its way
to all, and waits for it."""


class Found(Struct, frozen=True):
    """Findings beside the two reports; `kernel`: the kernel's counters of the whole run."""

    slices: Slices
    start_ns: int
    used: Used
    kernel: dict[str, int | None]
    has_private_network: bool
    is_elsewhere: bool


def assembled(
    case: Case, round: int, order: PublisherOrder, report: Report, heard: Heard, found: Found
) -> Run:
    """Check the counts against each other, and add the warnings. Raises RunError."""
    messages = sum(heard.all_messages)
    counters: dict[str, int | None] = {
        **heard.counters,
        **report.counters,
        **found.kernel,
        **middles(heard, found.slices),
        "messages": messages,
        "bytes": messages * order.message_bytes,
    }
    _check(order, report, heard, counters)
    slices: dict[str, Values] = {}
    if case.parameters.slice_ns is not None:
        slices = figures_of(heard, found.slices, found.used, found.start_ns)
        counters |= counters_of(found.used)
    histograms = dict(heard.histograms)
    if order.pace is None:
        # No message had a due time.
        del histograms["latency_ns"]
    return Run(
        case.case_id,
        round,
        counters,
        histograms,
        (
            *strangers_told(counters),
            *slices_told(
                FanoutParameters.of(case).duration_ns, counters, "the publisher", "the subscribers"
            ),
            *_warnings(case, order, heard, counters, found),
        ),
        slices=slices,
    )


def _check(
    order: PublisherOrder, report: Report, heard: Heard, counters: dict[str, int | None]
) -> None:
    publications = report.publications
    if not publications:
        raise RunError("nothing was published: name a longer --duration")
    if heard.counters["publications"] != publications:
        raise RunError(
            f"{publications} publications were sent, and {heard.counters['publications']} came"
        )
    if counters["messages"] != publications * order.subscribers:
        raise RunError(
            f"{counters['messages']} messages of {publications} publications came to "
            f"{order.subscribers} subscribers in its slices"
        )
    written_bytes = counters["written_bytes"]
    if written_bytes is not None and written_bytes != counters["bytes"]:
        raise RunError(
            f"the publisher's counted writes hold {written_bytes} bytes, what came "
            f"{counters['bytes']}"
        )


def _warnings(
    case: Case,
    order: PublisherOrder,
    heard: Heard,
    counters: dict[str, int | None],
    found: Found,
) -> Iterator[Warning]:
    yield from uncounted_writes_told(counters)
    by = " by this host" if found.is_elsewhere else " by both ends"
    yield from retransmits_told(counters.get("kernel_RetransSegs"), by)
    yield from host_network_told(has_private_network=found.has_private_network)
    own_ns = found.slices.own_ns
    busy = heard.counters["receiver_cpu_ns"] / own_ns
    if shares_core(case):
        yield Warning(
            "client_busy", "the publisher and the subscribers shared a core", ("throughput",)
        )
    elif busy > _BUSY:
        yield Warning(
            "client_busy",
            f"the subscribers, one thread, were busy {busy:.0%} of the run: the publisher may be "
            "faster than this",
            ("throughput", "latency", "last"),
        )
    if order.native_pace is not None:
        late_ns = _behind_ns(order.native_pace, heard, found)
        shortest_ns = Histogram.from_base64(heard.histograms["last_ns"]).min_ns
        if late_ns > _MOST_BEHIND * own_ns + 2 * shortest_ns:
            yield Warning(
                FELL_BEHIND,
                f"the last message of a slice came {late_ns / 1e6:.1f} ms after its publication "
                "was due: this rate is above what the publisher can send, or something stopped it",
                ("latency_", "last_"),
            )


def _behind_ns(pace: tuple[float, str, int, int, int], heard: Heard, found: Found) -> int:
    """How long after the last publication was due its last message came, in ns."""
    due_ns = _native.publications_due_ns(pace, found.slices.native)[-1]
    return max(heard.last_ns) - found.start_ns - due_ns
