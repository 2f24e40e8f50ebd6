"""The bounds of `stream`, and options that do not go together; each error names the remedy."""

from __future__ import annotations

from collections.abc import Mapping

from tinygram_bench.cli.bounds import check_slice, check_told, refuse, refuse_with
from tinygram_bench.links import parse_link
from tinygram_bench.loads.producers import MAX_POOL_BYTES
from tinygram_bench.loads.source import BURST_MESSAGES
from tinygram_bench.model.parameters import Direction, StreamParameters
from tinygram_bench.model.result import Plan
from tinygram_bench.model.units import format_bytes
from tinygram_bench.runs.slices import LEAST_MESSAGES, least_held, least_paced_ns
from tinygram_bench.workloads.stream.cases import StreamOptions, burst_ns
from tinygram_bench.workloads.turns import messages_ns

_MOST_BYTES_AT_ONCE = 256 << 20


def directions_of(
    is_reverse: bool,
    is_bidirectional: bool,
    only_forward: Mapping[str, object],
    alone: Mapping[str, object],
) -> tuple[Direction, ...]:
    """The directions in which messages are sent. Raises UsageError for options of one direction.

    `only_forward`: options for a sender at the near end; `alone`: options that exclude slices, or
    that need one curve for each way.
    """
    refuse(
        is_reverse and is_bidirectional,
        "--reverse cannot be combined with --bidirectional, which has that direction, too",
    )
    if is_reverse:
        refuse_with("--reverse", only_forward, "that is for a sender at the near end")
        return ("reverse",)
    if is_bidirectional:
        refuse_with("--bidirectional", only_forward, "that is for a sender at the near end alone")
        refuse_with(
            "--bidirectional",
            alone,
            "both directions last for the same time, in slices; measure each by itself, without "
            "and with --reverse",
        )
        return ("forward", "reverse")
    return ("forward",)


def check_bytes_at_once(asked: StreamOptions) -> None:
    """Raise UsageError where the messages of all producers, or connections, are too many bytes."""
    most_bytes = asked.message_bytes.max
    producers, connections = max(asked.producers), max(asked.connections)
    refuse(
        producers * most_bytes > MAX_POOL_BYTES,
        f"--producers {producers} with messages of {format_bytes(most_bytes)}: "
        "together they may take 64 MiB, so ask for fewer or smaller ones",
    )
    refuse(
        connections * most_bytes > _MOST_BYTES_AT_ONCE,
        f"--connections {connections} with messages of {format_bytes(most_bytes)}: a message for "
        "each may take 256 MiB together, so ask for fewer connections or smaller messages",
    )


def check_slices(plan: Plan, slice_ns: int, duration_ns: int) -> None:
    """Raise UsageError where a slice of a stream holds too few messages, or is too long."""
    for case in plan.cases:
        link = parse_link(case.link)
        trips = f"{LEAST_MESSAGES} round trips of --link {link.text}"
        check_slice(slice_ns, duration_ns, LEAST_MESSAGES * link.rtt_ns, trips)
        if case.rate_per_s is not None:
            burst = case.burst or 1
            holding = f"{least_held(burst)} at --rate {case.rate_per_s:g}"
            least_ns = least_paced_ns(case.rate_per_s, burst)
            check_slice(slice_ns, duration_ns, least_ns, holding)
        else:
            size = format_bytes(case.message_bytes.max)
            holding = f"{LEAST_MESSAGES} bursts of {BURST_MESSAGES} messages of {size}"
            check_slice(slice_ns, duration_ns, messages_ns(burst_ns(case)), holding)


def check_slices_told(plan: Plan) -> None:
    """Raise UsageError where a sender on the far host cannot be told as many slices."""
    for case in plan.cases:
        asked = StreamParameters.of(case)
        if asked.direction != "reverse" or asked.slice_ns is None:
            continue
        check_told("a sender", asked.duration_ns or 0, asked.slice_ns)
