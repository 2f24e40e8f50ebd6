"""The warnings on the figures of a run that several workloads give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from tinygram_bench.links.spec import REMOTE
from tinygram_bench.model.result import Case, Run, Warning
from tinygram_bench.statistics.figures.words import rounded_up
from tinygram_bench.statistics.recurring import FELL_BEHIND
from tinygram_bench.statistics.workloads import WORKLOADS

MOST_BEHIND = 0.01
"""A sender that is late by more than this share of its schedule cannot keep up with the rate."""

_LEAST_BEHIND_NS = 10_000_000
"""What wakes up as late as this at the end may only have had no core for two or three ticks."""
_MOST_DRAINING = 0.1
"""The share of a run's time by which its last reply may come after its end, beside the shortest
time of all."""
_NEAR = 10
"""A percentile is doubted where a tenth of the times above it are lower bounds."""
_RARE = {"p99": 0.01, "p99_9": 0.001, "p99_99": 0.0001}
"""Percentile → the share of times that are above it."""


def late_told(
    case: Case, counters: Mapping[str, int | None], own_ns: int, shortest_ns: int, limit: str
) -> Iterator[Warning]:
    """The warnings of an open loop in which something was not begun, or ended late.

    `own_ns`: how long the case's own time is. `shortest_ns`: how long the shortest call, or round
    trip, took. `limit`: what the rate is above, in words.
    """
    of_load = WORKLOADS[case.workload]
    unit, time = of_load.unit, of_load.time
    not_begun = counters.get(f"{unit}_not_begun") or 0
    behind_ns = counters.get("behind_ns") or 0
    # In turns each slice is judged by itself (runs/overruns.py).
    is_alone = "slices" not in counters
    drained_ns = (counters.get("run_time_ns") or 0) - own_ns if is_alone else 0
    total = not_begun + (counters.get(unit) or 0)
    waited = f"{not_begun} of {total} {unit} could not be begun before the run ended"
    above = f"this rate is above {limit}, or something stopped them"
    if behind_ns > max(_LEAST_BEHIND_NS, MOST_BEHIND * own_ns):
        first = f"the first of them had been due for {behind_ns / 1e6:.1f} ms"
        yield Warning(FELL_BEHIND, f"{waited}, and {first}: {above}", (f"{time}_", "start_delay_"))
    elif drained_ns - shortest_ns > _MOST_DRAINING * own_ns:
        late = f"the last reply came {drained_ns / 1e6:.1f} ms after the run's end"
        yield Warning(FELL_BEHIND, f"{late}: {above}", (f"{time}_", "start_delay_"))
    elif not_begun:
        rare = [name for name, share in _RARE.items() if _NEAR * not_begun >= share * total]
        yield Warning(
            "not_begun",
            f"{waited}, and count with the time that they had waited by then: the rarest times are "
            "lower bounds",
            tuple(f"{name}_{each}" for name in (time, "start_delay") for each in (*rare, "max")),
        )


def strangers_told(counters: Mapping[str, int | None], *others: str) -> Iterator[Warning]:
    """The warning of a run whose receiver or server other programs connected to.

    `others`: the counters that have more of such connections.
    """
    strangers = sum(counters.get(name) or 0 for name in ("strangers", *others))
    if strangers:
        yield Warning(
            "strangers",
            f"connections of other programs, which were turned away: {strangers}; what else these "
            "programs did on this host is not known",
        )


def retransmits_told(segments: int | None, by: str = "") -> Iterator[Warning]:
    """The warning of a run in which segments were sent again. `by`: who sent them."""
    if segments:
        yield Warning("retransmits", f"segments retransmitted{by}: {segments}")


def uncounted_writes_told(counters: Mapping[str, int | None]) -> Iterator[Warning]:
    """The warning of a run whose writes nobody counted."""
    if counters["writes"] is None:
        yield Warning("writes_not_counted", "the write-counting library did not load")


def host_network_told(
    *, has_private_network: bool, needs: str = "CAP_SYS_ADMIN"
) -> Iterator[Warning]:
    """The warning of a run without a network of its own. `needs`: what such a network needs."""
    if not has_private_network:
        yield Warning(
            "host_network",
            f"the run shared the host's network (a private one needs {needs}): the kernel's "
            "counters are not known",
        )


def shares_core(case: Case) -> bool:
    """Whether both ends of the case are on one core: on another host the far end has its own."""
    return case.placement == "same" and case.link != REMOTE


def with_bound(run: Run, bound_ns: int, round_trip_ns: int) -> Run:
    """The run between two hosts, with its one-way times' error (hosts/looks.py) and a warning."""
    counters = {"clock_bound_ns": bound_ns, "clock_round_trip_ns": round_trip_ns}
    message = (
        "one-way times, and what is made of them, are between two clocks, and may be wrong by "
        f"{rounded_up(bound_ns / 1e3)} µs: half of a round trip of {round_trip_ns / 1e3:.1f} µs, "
        "of which nobody can see whether the way there or back takes longer, and how far a clock "
        "may have strayed between two looks at it"
    )
    warnings = (*run.warnings, Warning("clock_bound", message))
    return replace(run, counters=run.counters | counters, warnings=warnings)
