"""`--rate` and `--arrival`, by which messages, calls or publications are due at times of their own.

Without them a sender goes on as soon as it can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from tinygram_bench.cli import quantities
from tinygram_bench.cli.bounds import check_slice, one_of, refuse, refuse_with
from tinygram_bench.cli.options.sweep import AskedSweep
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.runs.slices import LEAST_MESSAGES, least_paced_ns
from tinygram_bench.statistics.workloads import WORKLOADS
from tinygram_bench.workloads.turns import ARRIVALS

Arrival = Annotated[
    str | None,
    typer.Option(
        metavar="PROCESS",
        help=f"How messages, calls or publications arrive, with --rate: {', '.join(ARRIVALS)}.",
        show_default="constant",
        autocompletion=lambda: list(ARRIVALS),
    ),
]


def rate_option(what: str, without: str) -> Any:
    """The option `--rate` of a command; `what` is due at it, and `without` says what is so else."""
    return quantities.rate(
        f"{what} per second, each timed from when it was due (repeatable). Without it, {without}."
    )


def rates_asked(
    rates_per_s: Sequence[float] | None,
    arrival: str | None,
    swept: AskedSweep | None,
    *,
    never_with: Mapping[str, object] | None = None,
    reason: str = "",
    only_with: Mapping[str, object] | None = None,
) -> list[float]:
    """Each rate; the lowest one of a sweep; empty without a rate. Raises UsageError.

    `never_with`: options that no rate goes with, for `reason`, and whether they are given;
    `only_with`: the same for options that need a rate, as `--arrival` does.
    """
    found = [float(each) for each in rates_per_s or []]
    option = "--rate"
    if swept is not None and swept.parameter == "rate":
        found, option = [swept.low], "--sweep rate"
    if found:
        refuse_with(option, never_with or {}, f"{reason}; leave out one of the two")
    else:
        for other, value in {"--arrival": arrival, **(only_with or {})}.items():
            refuse(bool(value), f"{other} needs a schedule: add --rate, for example --rate 1000")
    if arrival is not None:
        one_of("--arrival", arrival, ARRIVALS)
    return found


def check_schedules(plan: Plan, most: int, slice_ns: int | None) -> Plan:
    """Return the plan. Raises UsageError where a run, or a slice, has too much or too little due.

    `most`: the most messages, or calls, of a run. `slice_ns`: of `--slice`; None: not given.
    """
    for case in plan.cases:
        if case.rate_per_s is None:
            continue
        duration_ns = getattr(case.parameters, "duration_ns", None) or 0
        unit, rate = WORKLOADS[case.workload].unit, f"--rate {case.rate_per_s:g}"
        due = case.rate_per_s * duration_ns / 1e9
        if not 1 <= due <= most:
            raise UsageError(
                f"{rate} for {format_duration_ns(duration_ns)} is a schedule of {due:.3g} {unit}, "
                f"which is outside 1 … {most:,}: name another rate or --duration"
            )
        if slice_ns is not None:
            holding = f"{LEAST_MESSAGES} {unit} at {rate}"
            check_slice(slice_ns, duration_ns, least_paced_ns(case.rate_per_s, burst=1), holding)
    return plan
