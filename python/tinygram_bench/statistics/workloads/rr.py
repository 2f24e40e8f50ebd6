"""Which cases of `rr` take turns, which are compared, and where the time of a call was spent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case, Run
from tinygram_bench.model.strategies import IO_URING
from tinygram_bench.statistics.figures.spent import (
    Spent,
    mean_of,
    mean_time,
    quotients_us,
    time_spent,
)

BASELINE = "nagle"
_BASELINES = (BASELINE, "nodelay")
"""The strategies, by hand, that others are compared with; the second where the first was not asked
for."""


def compared_pairs(cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    """(baseline, case): the same in everything else, by hand, with another strategy.

    The runtimes of callers are compared, too: each with the one that was named first, by the same
    strategy. Native callers by io_uring are compared with those by epoll alone.
    """
    alike: dict[Hashable, list[Case]] = defaultdict(list)
    firsts: dict[Hashable, Case] = {}
    for case in cases:
        alike[all_but_strategy(case)].append(case)
        if case.implementation != IO_URING:
            firsts.setdefault(_all_but_runtime(case), case)
    for case in cases:
        others = [each for each in alike[all_but_strategy(case)] if each.implementation != IO_URING]
        wanted = (case.strategy,) if case.implementation == IO_URING else _BASELINES
        by_strategy = {each.strategy: each for each in reversed(others)}
        baseline = next((by_strategy[name] for name in wanted if name in by_strategy), None)
        if baseline is not None and case is not baseline:
            yield baseline.case_id, case.case_id
        if case.implementation != IO_URING:
            first = firsts[_all_but_runtime(case)]
            if first is not case:
                yield first.case_id, case.case_id


def all_but_strategy(case: Case) -> Hashable:
    """A key that is equal for cases that differ in their strategy alone."""
    return case.runtime, _asked(case), case.parameters


def _all_but_runtime(case: Case) -> Hashable:
    """A key that is equal for cases whose callers differ in their runtime alone."""
    return case.strategy, _asked(case), case.parameters


def side_by_side(case: Case) -> Hashable:
    """A key that is equal for the cases of a load: callers and servers of any runtime and strategy.

    What else a case has is asked of it: sends, connections, a backlog, TLS and the like. Slices
    have one length for all that take turns, a few calls of the slowest: cases of which other things
    are asked, and whose calls take many times as long, would leave the others few.
    """
    of_any_server = replace(RrParameters.of(case), server_runtime="", server_strategy=None)
    return _asked(case), of_any_server


def _asked(case: Case) -> Hashable:
    """What is asked of callers, beside their parameters."""
    return (
        case.link,
        case.message_bytes,
        case.rate_per_s,
        case.arrival,
        case.producers,
        case.connections,
        case.placement,
    )


def name_beside(case: Case, other: Case) -> str | None:
    """The strategy, where both have the rest of the way in common."""
    ways = [(each.runtime, each.implementation) for each in (case, other)]
    return case.strategy if ways[0] == ways[1] else None


def arrival_spent(_case: Case, run: Run) -> Spent | None:
    """The time per call, and those of its parts that were counted.

    Without a rate it is what a caller had for each of its calls, from the start to its last reply:
    the parts are counted from the start, too, with the calls that are not measured, connecting, and
    waking up for a slice. At a rate a caller also waits until calls are due; there it is the mean
    call, from when it was due.

    `rest`: from the first part of a request to its last, at the server: a write that waits for an
    acknowledgement of the one before is in it. `start_delay`: at a rate, from when a call was due
    until its caller began it. `callers`, `server`: CPU time. `callers_core`,
    `server_core`: the time that they could have run and had no core, from their wake-up on. What
    one end computes while the other one does, or while the server waits for the rest of a request,
    is in two parts.
    """
    delay = mean_of(run, "start_delay")
    parts = {
        "rest": ("server_rest_ns", "server_requests"),
        "callers": ("cpu_ns", "calls"),
        "server": ("server_cpu_ns", "calls"),
        "callers_core": ("sliced_core_wait_ns", "calls"),
        "server_core": ("other_sliced_core_wait_ns", "calls"),
    }
    if delay is not None:
        # A caller that wakes up for a call that is due waits for its core in this time.
        del parts["callers_core"]
    found = quotients_us(replace(run, counters=_without_rests(run.counters)), parts)
    if delay is not None:
        return mean_time(run, "call", {"start_delay": delay.us} | found)
    total = quotients_us(run, {"total": ("callers_time_ns", "calls")})
    return time_spent(run, total["total"], found) if total else None


def _without_rests(counters: Mapping[str, int | None]) -> dict[str, int | None]:
    """The counters, with the CPU time of slices alone where that between them is known."""
    found = dict(counters)
    for name, of_rests in (
        ("cpu_ns", "resting_cpu_ns"),
        ("server_cpu_ns", "other_resting_cpu_ns"),
    ):
        used_ns, rested_ns = counters.get(name), counters.get(of_rests)
        if used_ns is not None and rested_ns is not None:
            found[name] = max(0, used_ns - rested_ns)
    return found
