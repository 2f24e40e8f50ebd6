"""The hosts of a cluster in a report: what each host did in all runs, and in each case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from statistics import median

from msgspec import Struct

from tinygram_bench.model.result import TIMES_OF_A_HOST, Figure, HostRun, Result
from tinygram_bench.report.numbers import CLOCK, CLOCK_HEAD, UNKNOWN, clock, number, rate
from tinygram_bench.report.table import Column, Shown, Table, table_of
from tinygram_bench.statistics.one_way import BOUND, is_of_two_clocks, least_known_us
from tinygram_bench.statistics.workloads import WORKLOADS

_MOST_ROWS = 200
"""More rows would hide what there is to see; the result file has them all."""


class _Parts(Struct, frozen=True):
    """The parts of runs that one host has, or that all have (`host` is then `all`)."""

    host: str
    parts: Sequence[HostRun]
    way: str = ""

    def middle(self, value_of: Callable[[HostRun], float | None]) -> float | None:
        known = [value for each in self.parts if (value := value_of(each)) is not None]
        return median(known) if known else None

    def most(self, value_of: Callable[[HostRun], int | None]) -> float | None:
        """The largest value, in µs; `value_of` gives ns."""
        known = [value for each in self.parts if (value := value_of(each)) is not None]
        return max(known) / 1e3 if known else None

    @property
    def bound_us(self) -> float | None:
        """By how much the clocks of the host and its server may be wrong, in µs."""
        return self.most(lambda each: each.clock_bound_ns)

    def time_us(self, figure: str) -> float | None:
        """The middle of a time, in µs; None also where the clocks do not know it well enough."""
        middle_us, bound_us = self.middle(attrgetter(figure)), self.bound_us
        if middle_us is None or bound_us is None or not is_of_two_clocks(figure):
            return middle_us
        least_us = least_known_us({BOUND: Figure(bound_us, bound_us, bound_us)})
        return middle_us if middle_us >= least_us else None

    def hides(self, figure: str) -> bool:
        """Whether the time has a value that may not be shown."""
        return self.middle(attrgetter(figure)) is not None and self.time_us(figure) is None

    @property
    def done(self) -> int:
        """The number of messages, or of calls."""
        return sum(each.messages or each.calls or 0 for each in self.parts)

    @property
    def failed(self) -> int:
        return sum(each.failure is not None for each in self.parts)

    @property
    def servers(self) -> str:
        return ", ".join(dict.fromkeys(each.server for each in self.parts))

    @property
    def warnings(self) -> str:
        codes = dict.fromkeys(code for each in self.parts for code in each.warnings)
        return ", ".join(code for code in codes if code not in _USUAL)


_USUAL = ("host_network", "clock_bound", "windows_restart")
"""Warnings that every run between hosts has."""
_OF_A_HOST: tuple[Shown[_Parts], ...] = (
    Shown(Column("host"), lambda host: host.host),
    Shown(Column("server", 3), lambda host: host.servers),
    Shown(Column("messages\nor calls"), lambda host: f"{host.done:,}"),
    Shown(Column(f"{CLOCK}\nµs", 2), lambda host: clock(host.bound_us)),
    Shown(Column("out of step\nby, µs"), lambda host: _us(host, lambda each: each.step_error_ns)),
    Shown(Column("late start\nµs", 1), lambda host: _us(host, lambda each: each.late_start_ns)),
    Shown(Column("parts\nfailed"), lambda host: f"{host.failed} of {len(host.parts)}"),
    Shown(Column("warnings", 4), lambda host: host.warnings),
)
_WHICH_PART: tuple[Shown[_Parts], ...] = (
    Shown(Column("case"), lambda part: part.way),
    Shown(Column("host"), lambda part: part.host),
)
_RATES: Mapping[str, tuple[Shown[_Parts], ...]] = {
    "messages": (
        Shown(Column("share\n/s"), lambda part: rate(part.middle(lambda each: each.rate_per_s))),
        Shown(
            Column("msg/s\nflat out"),
            lambda part: rate(part.middle(lambda each: each.throughput_per_s)),
        ),
    ),
    "calls": (
        Shown(Column("calls/s"), lambda part: rate(part.middle(lambda each: each.calls_per_s))),
    ),
}
"""The unit of a workload → how many of them a host's part had in a second."""
_CLOCK = Shown[_Parts](Column(CLOCK_HEAD), lambda part: clock(part.bound_us))
_NOTES = (
    f"{CLOCK}, out of step by, late start: the most of all runs; {CLOCK}: by how much the clocks "
    "of the host and its server may be wrong; out of step: beside the slices of its server's "
    "clock, so that two hosts are so by their sum at most",
)
_HIDDEN = (
    f"{UNKNOWN}  of a latency: not shown where the clocks of the host and its server may be wrong "
    "by more than a fifth of it",
)


def host_tables(result: Result) -> tuple[Table, ...]:
    """One table; none where the result is not from a cluster."""
    by_host = _by(each for run in result.runs for each in run.hosts)
    if not by_host:
        return ()
    rows = [_Parts(host, parts) for host, parts in by_host.items()]
    every = _Parts("all", [each for row in rows for each in row.parts])
    return (
        table_of("Hosts that generated the load, in all runs", _OF_A_HOST, (*rows, every), _NOTES),
    )


def part_tables(result: Result, labels: Mapping[str, str]) -> tuple[Table, ...]:
    """Each host's part in each case, medians over the rounds. `labels`: case_id → its name."""
    rows = []
    for case in result.plan.cases:
        runs = [run for run in result.runs if run.case_id == case.case_id]
        by_host = _by(each for run in runs for each in run.hosts)
        rows += [_Parts(host, parts, labels[case.case_id]) for host, parts in by_host.items()]
    if not rows:
        return ()
    title = "Each host's part in each case"
    if len(rows) > _MOST_ROWS:
        title += f": the first {_MOST_ROWS} of {len(rows)}"
    workload = WORKLOADS[result.plan.cases[0].workload]
    times = {each: f"{workload.time}_{each}_us" for each in TIMES_OF_A_HOST}
    shown = (
        *_WHICH_PART,
        *_RATES[workload.unit],
        *(Shown(Column(f"{each}\nµs"), partial(_time, figure)) for each, figure in times.items()),
        *((_CLOCK,) if any(map(is_of_two_clocks, times.values())) else ()),
    )
    is_hidden = any(row.hides(each) for row in rows[:_MOST_ROWS] for each in times.values())
    return (table_of(title, shown, rows[:_MOST_ROWS], _HIDDEN if is_hidden else ()),)


def _time(figure: str, part: _Parts) -> str:
    return number(part.time_us(figure))


def _by(parts: Iterable[HostRun]) -> dict[str, list[HostRun]]:
    found: dict[str, list[HostRun]] = {}
    for each in parts:
        found.setdefault(each.host, []).append(each)
    return found


def _us(host: _Parts, value_of: Callable[[HostRun], int | None]) -> str:
    return number(host.most(value_of))
