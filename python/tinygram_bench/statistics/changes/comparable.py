"""Whether two results can be compared, and what else differs between them.

Law: results of another host, another kernel, other messages or another method are not compared
unasked; results of other versions of programs are, because those are what one compares. The far
host, and each host of a cluster, is looked at as the near host is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from tinygram_bench.model.named_hosts import hosts_named
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
    "server_processes": "processes of a server under test",
}
"""Facts of the environment that make times and counts incomparable, and what they are called."""
_DECISIVE_FOR_TIMES = {
    "cpu_governor": "CPU governor",
    "cpu_latency_limit_us": "limit of a core's time to wake up (µs)",
}
"""Facts that make only times incomparable, though counts of a strategy that decides by time may
vary, too."""
_FLEETING = ("load_average_1_5_15_min", "memory_bytes", "noise_floor", "study", "port")

_ELSEWHERE = ("far", "cluster")
"""What the environment has of other hosts: their environments, which are compared one by one."""
_ROLES = ("server", "generator")
_NO_HOST = ("host", None)
_NOT_KNOWN = "not known"
_NO_FAR_HOST = ("far host", _NOT_KNOWN)


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
    only counts are compared. Other hosts of a measurement are named before what differs of them.
    """
    found = [Difference("host", before.host, after.host), *_other_hosts(before, after)]
    for whose, old, new in _environments(before, after):
        for name, words in (_DECISIVE | (_DECISIVE_FOR_TIMES if has_times else {})).items():
            found += _within(whose + words, old.get(name), new.get(name))
    found.append(Difference("seed of the messages", before.plan.seed, after.plan.seed))
    earlier = {case.case_id: case for case in before.plan.cases}
    for case in common_cases(before, after):
        old, new = msgspec.to_builtins(earlier[case.case_id]), msgspec.to_builtins(case)
        for name in old:
            found += _within(f"{name} of {case.case_id}", old[name], new[name])
    return tuple(
        each
        for each in found
        if each.before != each.after or (each.what, each.after) in (_NO_HOST, _NO_FAR_HOST)
    )


def other_differences(
    before: Result, after: Result, *, has_times: bool = True
) -> tuple[Difference, ...]:
    """What else differs in the environment: versions, mostly. `has_times`: see `hindrances`."""
    decisive = (*_DECISIVE, *(_DECISIVE_FOR_TIMES if has_times else {}))
    known = (*decisive, *_FLEETING, *_ELSEWHERE, "host")
    return tuple(
        Difference(whose + name, old.get(name), new.get(name))
        for whose, old, new in _environments(before, after)
        for name in dict.fromkeys((*old, *new))
        if name not in known and old.get(name) != new.get(name)
    )


_Facts = Mapping[str, Any]


def _environments(before: Result, after: Result) -> Iterator[tuple[str, _Facts, _Facts]]:
    """Each host that is in both results: its name before a difference, and both environments.

    What differs of the near host is told without a name.
    """
    yield "", before.environment, after.environment
    earlier, later = (_far_end(each) | _cluster(each) for each in (before, after))
    for host in earlier:
        if host in later:
            yield f"{host}'s ", earlier[host], later[host]


def _other_hosts(before: Result, after: Result) -> Iterator[Difference]:
    """How the far hosts, and the hosts of clusters, are called."""
    yield Difference("far host", _far_name(before), _far_name(after))
    for role in _ROLES:
        names = (_names_of(role, each) for each in (before, after))
        yield Difference(f"{role}s of the cluster", *names)


def _far_end(result: Result) -> dict[str, _Facts]:
    return {"far host": result.environment["far"]} if "far" in result.environment else {}


def _cluster(result: Result) -> dict[str, _Facts]:
    """What each host does and how it is called → its environment."""
    hosts = result.environment.get("cluster", ())
    return {f"{each['role']} {_name_of(each)}": each for each in hosts}


def _names_of(role: str, result: Result) -> str | None:
    hosts = result.environment.get("cluster", ())
    return ", ".join(sorted(_name_of(each) for each in hosts if each["role"] == role)) or None


def _name_of(host: _Facts) -> str:
    return f"{host['name']} ({host['host']})"


def _far_name(result: Result) -> str | None:
    """The far host as it was asked for, without a port; None where there is no far host.

    Of older results it is known from the command alone.
    """
    if "far" not in result.environment:
        return None
    host = result.environment["far"].get("host") or next(
        hosts_named(result.command, ("--server",)), _NOT_KNOWN
    )
    return str(host).lower()


def _within(what: str, before: Any, after: Any) -> Iterator[Difference]:
    """The difference, or where both values have parts, the differences of the parts."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            yield from _within(f"{what}, {name}", before.get(name), after.get(name))
    else:
        yield Difference(what, before, after)


def _shown(value: Any) -> str:
    return "not known" if value is None else str(value)
