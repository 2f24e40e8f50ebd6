"""The warnings about the link of a run.

Law: a warning's message contains no figure of the run, so that a report tells it once for all cases
that have it; how late and how slow a link was is in the report's table of links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygram_bench._native import Histogram
from tinygram_bench.model.result import EVERY_FIGURE, LinkFacts, Warning

_LATE_NS = 100_000
_LATE_SHARE = 20
"""A link is late when its p99 is above 100 µs, or above 1/20 of its round trip if that is more."""
_MISS_NS = 20_000
_MISS_SHARE = 20
"""A link is slow, or fast, when its round trips are off by over 20 µs and 1/20 of the RTT asked."""
_MIN_LATE_PACKETS = 10
_STOPPED_NS = 100_000_000
_STOPPED_SHARE = 100
"""A relay counts as stopped when its stops took 100 ms in all, or more than 1/100 of the time."""
_MOST_STOPPED_SLICES = 0.5
"""Where the relay stood still in more of the slices, their medians are those of such slices."""
_TOLD_STOPPED_SLICES = 0.01
STOOD_STILL_US = "link_stood_still_us"
"""In a run's `slices`: how long the relay stood still in each slice and the gap after it."""
LINK_FAULTS = ("link_stopped", "link_late", "link_slow", "link_fast")
"""The warnings of a link that was not as asked."""
UNASKED = ("_overflow", "_refused", "_missed", "device_dropped")
"""The endings of the names of counters of packets that were dropped unasked."""


def warnings_of(
    facts: LinkFacts,
    counters: Mapping[str, int],
    lateness: Histogram | None,
    stood_still_us: Sequence[float] | None = None,
) -> tuple[Warning, ...]:
    """Every warning of one run's link; those that bar figures first.

    `stood_still_us`: for a run that took turns, how long the relay stood still in each slice: what
    happened between its slices is in none of its figures.
    """
    found = (
        _stopped(counters) if stood_still_us is None else _stopped_in_slices(stood_still_us),
        _late(facts, lateness),
        _missed(facts),
        _dropped(counters),
        _full(counters),
    )
    return tuple(warning for warning in found if warning is not None)


def late_percentile(packets: int) -> float | None:
    """The percentile that tells whether a link was late: p99, lower with fewer than 1,000 packets.

    Ten packets must be beyond it; None: too few packets were carried.
    """
    if packets <= _MIN_LATE_PACKETS:
        return None
    return min(99.0, 100 * (1 - _MIN_LATE_PACKETS / packets))


def late_limit_ns(facts: LinkFacts) -> int:
    return max(_LATE_NS, (facts.rtt_ns or 0) // _LATE_SHARE)


def _stopped(counters: Mapping[str, int]) -> Warning | None:
    """Judge by time, not by packets: what TCP holds back meanwhile comes in few packets later."""
    stopped_ns = counters.get("relay_stopped_ns", 0)
    watched_ns = counters.get("relay_watched_ns", 0)
    if stopped_ns < _STOPPED_NS and stopped_ns * _STOPPED_SHARE <= watched_ns:
        return None
    return Warning(
        "link_stopped",
        "the link stood still: its relay was stopped or had no core for 100 ms or more, or for "
        "more than 1 % of the time, and what was sent meanwhile waited: the run says more of this "
        "host than of the link",
        EVERY_FIGURE,
    )


def _stopped_in_slices(stood_still_us: Sequence[float]) -> Warning | None:
    """Tell of stops in a few slices, which meet all cases that take turns; bar where in many."""
    stopped, slices = sum(us > 0 for us in stood_still_us), len(stood_still_us)
    if stopped <= _TOLD_STOPPED_SLICES * slices:
        return None
    said = f"the link stood still in {stopped} of {slices} slices: its relay had no core"
    if stopped <= _MOST_STOPPED_SLICES * slices:
        return Warning("slices_link_stopped", f"{said}; these slices count like all others")
    message = f"{said}, so that the run says more of this host than of the link"
    return Warning("link_stopped", message, EVERY_FIGURE)


def _late(facts: LinkFacts, lateness: Histogram | None) -> Warning | None:
    percentile = None if lateness is None else late_percentile(lateness.count)
    if lateness is None or percentile is None:
        return None
    if lateness.percentile_ns(percentile) <= late_limit_ns(facts):
        return None
    return Warning(
        "link_late",
        "the link was late: more than 1 % of its packets, and ten, came over 100 µs after their "
        "time, or 1/20 of the RTT where that is more: the run says more of this host than of the "
        "link",
        EVERY_FIGURE,
    )


def rtt_miss_ns(asked_rtt_ns: int, rtt_ns: int) -> int:
    """How far a round trip is from what was asked, in ns; 0 where that is near enough."""
    miss_ns = rtt_ns - asked_rtt_ns
    return 0 if abs(miss_ns) <= max(_MISS_NS, asked_rtt_ns // _MISS_SHARE) else miss_ns


def _missed(facts: LinkFacts) -> Warning | None:
    if facts.asked_rtt_ns is None or facts.measured_rtt_ns is None:
        return None
    miss_ns = rtt_miss_ns(facts.asked_rtt_ns, facts.measured_rtt_ns)
    if miss_ns > 0:
        return Warning(
            "link_slow",
            "the link was slow: its round trips took over 20 µs longer than was asked when it was "
            "up, or 1/20 where that is more: this host is too slow for it, or was busy",
            EVERY_FIGURE,
        )
    if miss_ns < 0:
        return Warning(
            "link_fast",
            "the link was fast: its round trips took over 20 µs less than was asked when it was "
            "up, or 1/20 where that is more: this host was busy while it was calibrated",
            EVERY_FIGURE,
        )
    return None


def _dropped(counters: Mapping[str, int]) -> Warning | None:
    if not sum(count for name, count in counters.items() if name.endswith(UNASKED)):
        return None
    return Warning("link_dropped", "the link lost packets, although no loss was asked for")


def _full(counters: Mapping[str, int]) -> Warning | None:
    if not sum(count for name, count in counters.items() if name.endswith("_full")):
        return None
    return Warning(
        "link_queue_full",
        "the link's queue was full, and dropped packets as a line's queue does",
    )
