"""Options of several commands that have bounds: each is checked here, and the error names them."""

from __future__ import annotations

import re
import shlex
import shutil
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from tinygram_bench.host import descriptors
from tinygram_bench.host.descriptors import descriptors_of
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Plan
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.runs.slices import MOST_SLICES

Given = TypeVar("Given")
Value = TypeVar("Value")
_PROBE_NS = (1_000_000, 60_000_000_000)
_SLOW_PER_S = 50_000
_MOST_TIMES_DURATION, _SPARE_S = 10, 5.0
"""A run may take this many times the length of its schedule, plus this many seconds."""
_LEAST_SLICE_NS = 1_000_000
"""The gap between two slices may be as long: with shorter slices, a run would mostly be gaps."""


def read(option: str, parse: Callable[[Given], Value], given: Given) -> Value:
    """The value that `parse` reads. Its UsageError is raised with the option's name in front."""
    try:
        return parse(given)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from error


def refuse(is_given: bool, fault: str) -> None:
    """Raise UsageError with this fault where the option is given."""
    if is_given:
        raise UsageError(fault)


def refuse_with(option: str, others: Mapping[str, object], reason: str) -> None:
    """Raise UsageError where one of `others` (name → value) is given, which exclude `option`."""
    for other, value in others.items():
        refuse(bool(value), f"{option} cannot be combined with {other}: {reason}")


def between(option: str, value: int, low: int, high: int) -> int:
    """`value`. Raises UsageError outside `low` … `high`."""
    if not low <= value <= high:
        raise UsageError(f"{option} {value} is outside {low} … {high}")
    return value


def one_of(option: str, value: str, known: Iterable[str]) -> str:
    """`value`. Raises UsageError unless it is one of `known`."""
    if value not in known:
        raise UsageError(f"{option} {value!r} is unknown: the known ones are {', '.join(known)}")
    return value


def duration_between_ns(option: str, duration_ns: int, low_ns: int, high_ns: int) -> int:
    """`duration_ns`. Raises UsageError outside `low_ns` … `high_ns`."""
    if not low_ns <= duration_ns <= high_ns:
        low, high = format_duration_ns(low_ns), format_duration_ns(high_ns)
        raise UsageError(f"{option} {format_duration_ns(duration_ns)} is outside {low} … {high}")
    return duration_ns


def check_command(option: str, text: str) -> None:
    """Raise UsageError unless `text` starts with a program that exists on this host."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r} cannot be read: {error}") from error
    if not words or shutil.which(words[0]) is None:
        raise UsageError(
            f"{option} {text!r} does not start with a program that exists here: name one in PATH, "
            "or give its path"
        )


def backlog_below(backlog: int, longest: int) -> int:
    """Return `backlog`. Raises UsageError where the kernel would not keep to it."""
    if not 1 <= backlog <= longest:
        raise UsageError(
            f"--backlog {backlog} is outside 1 … {longest}, the kernel's net.core.somaxconn"
        )
    return backlog


def probe_interval_ns(interval_ns: int | None) -> int | None:
    """Return the interval of `--probe` (None: no probes). Raises UsageError outside the bounds."""
    if interval_ns is None:
        return None
    return duration_between_ns("--probe", interval_ns, *_PROBE_NS)


def slice_within_ns(slice_ns: int, duration_ns: int) -> int:
    """Return the length of `--slice`. Raises UsageError where it is too long or too short."""
    given = f"--slice {format_duration_ns(slice_ns)}"
    if slice_ns > duration_ns:
        raise UsageError(
            f"{given} is longer than the {format_duration_ns(duration_ns)} that each case runs: "
            "name a shorter slice or a longer --duration"
        )
    if slice_ns < _LEAST_SLICE_NS:
        raise UsageError(
            f"{given} is too short: cases take turns of {format_duration_ns(_LEAST_SLICE_NS)} at "
            "least"
        )
    return slice_ns


def check_slice(slice_ns: int, duration_ns: int, least_ns: int, holding: str) -> None:
    """Raise UsageError where a slice is too long, or shorter than `least_ns`.

    `holding`: what a shorter slice holds too few of, with the number needed.
    """
    slice_within_ns(slice_ns, duration_ns)
    if slice_ns < least_ns:
        raise UsageError(
            f"--slice {format_duration_ns(slice_ns)} holds fewer than {holding}: name at least "
            f"{format_duration_ns(least_ns)}"
        )


def check_told(who: str, duration_ns: int, slice_ns: int) -> None:
    """Raise UsageError where `who`, on the far host, cannot be told so many slices."""
    slices = duration_ns // slice_ns
    refuse(
        slices > MOST_SLICES,
        f"{who} on the far host can be told {MOST_SLICES:,} slices, and --duration has "
        f"{slices:,}: name a shorter --duration, a longer --slice, or more --rounds",
    )


def takes_turns(slice_ns: int | None, alone: Mapping[str, bool]) -> bool:
    """Whether cases take turns, in slices of a load or sample by sample.

    `alone`: for each option whose runs are alone, whether it is given. Raises UsageError where such
    an option meets `--slice`.
    """
    given = [option for option, is_given in alone.items() if is_given]
    if slice_ns is not None and given:
        raise UsageError(
            f"{given[0]} cannot be combined with --slice: its runs are alone, without slices"
        )
    return not given


def server_address(text: str) -> tuple[str, int]:
    """The IPv4 address and the port of `--server HOST:PORT`. Raises UsageError."""
    host, colon, port = text.rpartition(":")
    is_number = re.fullmatch("[0-9]{1,5}", port, re.ASCII) is not None
    if not (colon and host and is_number and 1 <= int(port) <= 65_535):
        raise UsageError(f"--server {text!r} is not HOST:PORT, for example 127.0.0.1:7000")
    try:
        found = socket.getaddrinfo(host, int(port), socket.AF_INET, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"--server {text!r}: {host!r} has no IPv4 address ({error}); name a host that has one"
        ) from error
    return str(found[0][4][0]), int(port)


def check_descriptors(option: str, plan: Plan) -> None:
    """Raise UsageError where a process may not have as many descriptors as the plan takes.

    `option`: the option that says how many connections there are.
    """
    case = max(plan.cases, key=descriptors_of)
    descriptors.check_descriptors(option, case.connections, descriptors_of(case))


def sendable(plan: Plan) -> Plan:
    """Return the plan. Raises UsageError where sending takes far longer than the schedule lasts."""
    for case in plan.cases:
        planned = case.parameters
        if case.rate_per_s is None or not isinstance(planned, StreamParameters):
            continue
        messages, duration_s = planned.messages, (planned.duration_ns or 0) / 1e9
        takes_s = messages / _SLOW_PER_S
        if takes_s > _MOST_TIMES_DURATION * duration_s + _SPARE_S:
            raise UsageError(
                f"--rate {case.rate_per_s:g} for {duration_s:g} s is a schedule of {messages:,} "
                f"messages: a way that sends {_SLOW_PER_S:,} a second would need about "
                f"{takes_s:.0f} s in every run to send them, and latency would not count; name a "
                "lower rate, a shorter --duration, or leave out --rate to send flat out"
            )
    return plan
