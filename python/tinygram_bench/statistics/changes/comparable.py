"""Whether two results can be compared, and what else differs between them.

Law: results of another host, another kernel, other messages or another method are not compared
unasked; results of other versions of programs are, because those are what one compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from tinygram_bench.model.result import Case, Result

_DECISIVE = {
    "kernel": "kernel",
    "architecture": "architecture",
    "cpu_model": "CPU",
    "cores": "number of cores",
    "allowed_cores": "allowed cores",
    "cpu_quota_cores": "CPU quota in cores",
    "sender_core": "sender's core",
    "receiver_core": "receiver's core",
    "network": "network",
    "congestion_control": "congestion control",
    "sysctls": "kernel settings",
}
"""Facts of the environment that make times and counts incomparable, and what they are called."""
_DECISIVE_FOR_TIMES = {
    "cpu_governor": "CPU governor",
    "cpu_latency_limit_us": "limit of a core's time to wake up (µs)",
}
"""Facts that make only times incomparable, though counts of a strategy that decides by time may
vary, too."""
_FLEETING = ("load_average_1_5_15_min", "memory_bytes", "noise_floor", "study")


_NO_HOST = ("host", None)


class Difference(Struct, frozen=True):
    """What differs between two results, in words, and the two values."""

    what: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.what}: {_shown(self.before)} before, {_shown(self.after)} after"


def common_cases(before: Result, after: Result) -> tuple[Case, ...]:
    """The cases that both plans have by the same name, as they are after."""
    known = {case.case_id for case in before.plan.cases}
    return tuple(case for case in after.plan.cases if case.case_id in known)


def hindrances(before: Result, after: Result, *, has_times: bool = True) -> tuple[Difference, ...]:
    """What makes the two incomparable: host, kernel, messages and method, in that order.

    Hosts that are not known, as in anonymous results, count as different ones. `has_times`: not
    only counts are compared.
    """
    found = [Difference("host", before.host, after.host)]
    for name, words in (_DECISIVE | (_DECISIVE_FOR_TIMES if has_times else {})).items():
        found += _within(words, before.environment.get(name), after.environment.get(name))
    found.append(Difference("seed of the messages", before.plan.seed, after.plan.seed))
    earlier = {case.case_id: case for case in before.plan.cases}
    for case in common_cases(before, after):
        old, new = msgspec.to_builtins(earlier[case.case_id]), msgspec.to_builtins(case)
        for name in old:
            found += _within(f"{name} of {case.case_id}", old[name], new[name])
    return tuple(
        each for each in found if each.before != each.after or (each.what, each.after) == _NO_HOST
    )


def other_differences(
    before: Result, after: Result, *, has_times: bool = True
) -> tuple[Difference, ...]:
    """What else differs in the environment: versions, mostly. `has_times`: see `hindrances`."""
    names = (*before.environment, *after.environment)
    known = (*_DECISIVE, *(_DECISIVE_FOR_TIMES if has_times else {}), *_FLEETING)
    rest = dict.fromkeys(name for name in names if name not in known)
    pairs = ((name, before.environment.get(name), after.environment.get(name)) for name in rest)
    return tuple(Difference(name, *values) for name, *values in pairs if values[0] != values[1])


def _within(what: str, before: Any, after: Any) -> Iterator[Difference]:
    """The difference, or where both values have parts, the differences of the parts."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            yield from _within(f"{what}, {name}", before.get(name), after.get(name))
    else:
        yield Difference(what, before, after)


def _shown(value: Any) -> str:
    return "not known" if value is None else str(value)
