"""What the options of `rr` may say, and which exclude each other; each error names the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tinygram_bench.cli.bounds import backlog_below, check_slice
from tinygram_bench.cli.options.rates import check_schedules
from tinygram_bench.host.network import private_network
from tinygram_bench.links import parse_link
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Plan
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.runs.slices import least_rows
from tinygram_bench.workloads.rr.cases import RrOptions, number_of
from tinygram_bench.workloads.rr.serving import longest_backlog

_SIZES = ("request_bytes", "reply_bytes")
_CROSS_CHECK_BYTES = 100
_MOST_CALLS = 10_000_000
"""The most calls of a run at a rate: when each is due is known before it starts."""


def check_due(plan: Plan, slice_ns: int | None) -> Plan:
    """Return the plan. Raises UsageError where a run, or a slice, has too many calls, or too few.

    `slice_ns`: of `--slice`.
    """
    check_schedules(plan, _MOST_CALLS, slice_ns)
    if slice_ns is not None:
        _check_slices(plan, slice_ns)
    return plan


def _check_slices(plan: Plan, slice_ns: int) -> None:
    """Raise UsageError where a slice has no time for as many calls in a row as one must have.

    What a link and a hold make of a call is known; the rest is found out before the start, and
    slices are lengthened by it (runs/group.py).
    """
    for case in plan.cases:
        held_ns = parse_strategy(case.strategy).duration_ns or 0
        call_ns, rows = parse_link(case.link).rtt_ns + held_ns, least_rows(case.producers)
        holding = f"{rows} calls in a row of {format_duration_ns(call_ns)} (--link, --strategy)"
        duration_ns = RrParameters.of(case).duration_ns or 0
        check_slice(slice_ns, duration_ns, rows * call_ns, holding)


def processes_of_callers(text: str | None, processes: int, each: int) -> tuple[int, int]:
    """Processes and callers in each, from `2x100`; else the given ones. Raises UsageError."""
    if text is None:
        return processes, each
    match = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})", text, re.ASCII)
    if match is None or not int(match[1]) or not int(match[2]):
        raise UsageError(
            f"--callers {text!r} is not PROCESSESxCALLERS, both 1 or more: for example 2x100"
        )
    return int(match[1]), int(match[2])


def check_callers(connections: Sequence[str] | None) -> None:
    """Raise UsageError for `--callers` where `--connections` has only numbers, which fix them."""
    if connections and all(number_of(each) for each in connections):
        raise UsageError(
            f"--callers is not for --connections {connections[0]}, which has a caller on each "
            "connection, in one process: leave out --callers"
        )


def check_unchecked(reply: int | None, server: str | None) -> None:
    """Raise UsageError where `--reply-bytes` (unchecked replies) does not go with the rest."""
    if reply is not None:
        raise UsageError(
            "--reply and --reply-bytes both give the size of a reply: leave out --reply-bytes to "
            "have the content of replies checked, or leave out --reply"
        )
    if server is None:
        raise UsageError(
            "--reply-bytes is for a program with replies of its own: say where it listens with "
            "--server HOST:PORT; for our own server use --reply"
        )


def refuse_with_scenario(named: Iterable[str]) -> None:
    """Raise UsageError where options are named that a scenario sets."""
    names = ", ".join(_options_of(named))
    if names:
        raise UsageError(f"{names}: a scenario sets this itself; leave these out, or --scenario")


def _options_of(names: Iterable[str]) -> list[str]:
    names = list(names)
    if "checks_replies" in names:
        # The option `--reply-bytes` sets both.
        names = [name for name in names if name != "reply_bytes"]
    known = {
        "strategies": "--strategy",
        "runtimes": "--runtime",
        "servers": "--server-runtime",
        "server_strategies": "--server-strategy",
        "backlogs": "--backlog",
        "request_bytes": "--request",
        "reply_bytes": "--reply",
        "checks_replies": "--reply-bytes",
        "has_quickack": "--quickack",
        "server_address": "--server",
    }
    return [known.get(name, "--" + name.replace("_", "-")) for name in names]


def check_cross_check(others: dict[str, object], shape: dict[str, Any]) -> None:
    """Raise UsageError where options are named that `--cross-check` sets."""
    named = [name for name, value in others.items() if value is not None]
    named += [name for name in shape if name not in _SIZES]
    if named:
        names = ", ".join(_options_of(named))
        raise UsageError(
            f"{names}: --cross-check sets this itself; leave these out, or --cross-check"
        )
    if len({shape[name] for name in _SIZES if name in shape}) > 1:
        raise UsageError(
            "--cross-check needs --request and --reply to be equal, since other programs have one "
            "size"
        )


def cross_checked(shape: dict[str, Any]) -> dict[str, Any]:
    """The shape of a cross-check: one native caller, a write per request, replies as long."""
    size = shape.get("request_bytes", shape.get("reply_bytes", _CROSS_CHECK_BYTES))
    return shape | {
        "runtimes": ["native"],
        "strategies": ["nodelay"],
        "connections": ["per-caller"],
        "sends_per_request": [1],
        "request_bytes": size,
        "reply_bytes": size,
    }


def check_backlogs(asked: RrOptions) -> None:
    """Raise UsageError where the kernel would not keep to a backlog.

    The kernel is asked in a private network, as in the runs: a new one has settings of its own.
    """
    with private_network() as network, network.entered():
        longest = longest_backlog()
    for backlog in asked.backlogs:
        backlog_below(backlog, longest)
