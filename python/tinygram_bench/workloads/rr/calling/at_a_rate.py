"""Calls at a rate: what callers find counts from when each call was due, not from when it began.

A caller that waits for a late reply begins its next call late. If only the time from its beginning
counted, the delay would be in none of the times (G. Tene, How NOT to Measure Latency: coordinated
omission).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

from tinygram_bench.workloads.rr.calling import Tally
from tinygram_bench.workloads.rr.order import CallTimes, SliceTally, Start


class CallLog:
    """What one caller did at a rate."""

    def __init__(self) -> None:
        # A flat array: objects of each call would be more to collect, while others are timed.
        self._made = array("q")
        self.not_begun_ns: Sequence[int] = ()
        """When the calls were due that it could not begin, in ns of the case's own time."""

    def note(self, span: int, due_ns: int, times: CallTimes) -> None:
        """A call was made. `span`: the number of the one in which it began.

        `due_ns`: when it was due, in ns of the case's own time.
        """
        self._made.extend((span, due_ns, *times))

    def made(self) -> Iterator[tuple[int, int, CallTimes]]:
        """The calls that were made: span, `due_ns`, and times."""
        values = iter(self._made)
        for span, due_ns, *times in zip(values, values, values, values, values, strict=True):
            yield span, due_ns, CallTimes(*times)


def record(tally: Tally, start: Start, logs: Iterable[CallLog]) -> None:
    """Add up what callers did. This is done when the last slice is over."""
    slices = [_Slice() for _ in start.slices]
    for log in logs:
        _record(tally, start, log, slices)
    # Callers at a rate are there all the time: a slice tells nothing of how much of it they called.
    tally.slices += [
        SliceTally(each.calls_ns, 0, each.last_ns or span.start_ns, each.calls)
        for each, span in zip(slices, start.slices, strict=True)
    ]


class _Slice:
    """What callers found in a slice; see SliceTally."""

    def __init__(self) -> None:
        self.calls_ns: list[int] = []
        self.last_ns = 0
        self.calls = 0


def _record(tally: Tally, start: Start, log: CallLog, slices: Sequence[_Slice]) -> None:
    """Add what one caller did to what was found in each slice, and the rest to `tally`."""
    spans = start.spans
    on_due = _recorder(tally, start, slices)
    ends_ns = [span.end_ns for span in spans]
    for number, due_ns, (called_ns, begun_ns, ended_ns) in log.made():
        due_at_ns = spans[number].at_ns(due_ns)
        tally.count(begun_ns, ended_ns)
        ends_ns[number] = max(ends_ns[number], ended_ns)
        if number < len(slices):
            # It used the CPU in the slice in which it was made.
            slices[number].calls += 1
            slices[number].last_ns = max(slices[number].last_ns, ended_ns)
        on_due(due_ns, max(0, called_ns - due_at_ns), max(0, ended_ns - due_at_ns))
    over_ns = spans[-1].own_ns + spans[-1].end_ns - spans[-1].start_ns
    for due_ns in log.not_begun_ns:
        waited_ns = max(0, over_ns - due_ns)
        tally.calls_not_begun += 1
        tally.behind_ns = max(tally.behind_ns, waited_ns)
        # It would have taken longer.
        on_due(due_ns, waited_ns, waited_ns)
    arrived_ns = 0
    for span, end_ns in zip(spans, ends_ns, strict=True):
        tally.callers_time_ns += max(0, end_ns - max(span.start_ns, arrived_ns))
        arrived_ns = end_ns


def _recorder(
    tally: Tally, start: Start, slices: Sequence[_Slice]
) -> Callable[[int, int, int], None]:
    """A function that takes when a call was due, how late it began, and how long it took."""
    spans = start.spans
    begins_ns = [span.own_ns for span in spans]

    def on_due(due_ns: int, start_delay_ns: int, took_ns: int) -> None:
        # A moment at the edge of two slices belongs to the first.
        number = max(0, bisect_left(begins_ns, due_ns) - 1)
        settled_ns = spans[number].settled_ns
        if settled_ns is not None and spans[number].at_ns(due_ns) <= settled_ns:
            return
        tally.call.record(took_ns)
        tally.start_delay.record(start_delay_ns)
        if number < len(slices):
            slices[number].calls_ns.append(took_ns)

    return on_due
