"""`--sweep PARAMETER=LOW..HIGH` and `--limit`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import typer
from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.cli.bounds import refuse_with
from tinygram_bench.cli.measuring import Asked, Manner
from tinygram_bench.cli.options import Links
from tinygram_bench.cli.options.length import Length
from tinygram_bench.measurement.sweeping import PlanAt, Sweeping
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan
from tinygram_bench.model.store import Destination
from tinygram_bench.model.sweep import Limit, Parameter, Sweep
from tinygram_bench.model.units import (
    format_duration_ns,
    parse_bytes,
    parse_duration_ns,
    parse_rate,
)
from tinygram_bench.runs.workload import Workload
from tinygram_bench.statistics.sweeps.choice import MOST_POINTS
from tinygram_bench.workloads.echo.cases import EchoOptions
from tinygram_bench.workloads.fanout.cases import FanoutOptions
from tinygram_bench.workloads.stream.cases import StreamOptions

Options = TypeVar("Options", bound=Struct)

Held = TypeVar("Held", StreamOptions, EchoOptions, FanoutOptions)

SWEEP_DURATION_NS = 500 * 10**6
"""How long a paced run of a sweep lasts unless `--duration` is given."""
_HELD_AND_NOT = ("nodelay", "coalesce:10us")
"""The strategies in a sweep of holds, unless others are named."""
_READ: Mapping[Parameter, Callable[[str], float]] = {
    "rate": parse_rate,
    "hold": parse_duration_ns,
    "size": parse_bytes,
    "rtt": parse_duration_ns,
}
EVERY_PARAMETER = tuple(_READ)
_EXAMPLES: Mapping[Parameter, str] = {
    "rate": "rate=1k..500k",
    "hold": "hold=1us..10ms",
    "size": "size=10..64KiB",
    "rtt": "rtt=200us..50ms",
}
_LIMITED = {"p50": "p50", "p99": "p99", "p99.9": "p99_9"}
"""Percentile, as `--limit` has it → the part of a figure's name."""
_LIMIT_EXAMPLE = "--limit 'p99<1ms'"
_HELD = re.compile(r"\b(coalesce|timer):[^/,]+")

LimitOption = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENTILE<DURATION",
        help="With --sweep, at a rate: also tell up to which value a latency "
        f"({', '.join(_LIMITED)}) stays below this, for example 'p99<1ms'.",
        show_default=False,
    ),
]


def sweep_option(known: Sequence[Parameter] = EVERY_PARAMETER) -> Any:
    """The option `--sweep` of a command that can sweep these parameters."""
    return typer.Option(
        "--sweep",
        metavar="PARAMETER=LOW..HIGH",
        help=f"Measure at up to {MOST_POINTS} values, chosen where the curve bends or the order of "
        f"ways changes: {', '.join(_EXAMPLES[each] for each in known)}.",
        show_default=False,
    )


class AskedSweep(Struct, frozen=True):
    """A sweep that was asked for."""

    parameter: Parameter
    low: float
    high: float
    limit: Limit | None = None

    def asked_with(
        self,
        length: Length,
        plan_at: PlanAt,
        links: Links,
        workload: Workload,
        destination: Destination,
        manner: Manner,
    ) -> Asked:
        """What the command's options ask for, with the sweep.

        Raises UsageError with `--until`, and where one of the first values cannot be measured.
        """
        if length.until_share is not None:
            raise UsageError(
                "--until cannot be combined with --sweep, which measures each point for the same "
                "number of rounds: use --rounds"
            )
        asked = Sweep(self.parameter, self.low, self.high, length.rounds, self.limit)
        sweeping = Sweeping(asked, plan_at, length.max_time_ns)
        (links.at_rtt(self.low) if self.parameter == "rtt" else links).prepare()
        return Asked(sweeping.plan, workload, destination, manner, sweeping=sweeping)


def planned_at(
    asked: Options,
    links: Links,
    plan: Callable[[Options], Plan],
    swept: AskedSweep,
    varied: Mapping[Parameter, Callable[[Options, float], Options]],
) -> PlanAt:
    """A function from a value of the swept parameter to the plan for it.

    `varied`: for each parameter but `rtt`, which belongs to the links, how a value of it is put
    into the options, of which `plan` then makes a plan.
    """

    def at(value: float) -> Plan:
        if swept.parameter == "rtt":
            return links.at_rtt(value).over(asked, plan)
        return links.over(varied[swept.parameter](asked, value), plan)

    return at


def asked_sweep(
    texts: Sequence[str] | None,
    *,
    never_with: Mapping[str, object],
    set_by_sweep: Mapping[Parameter, Mapping[str, object]],
    known: Sequence[Parameter] = EVERY_PARAMETER,
    limit: str | None = None,
    limited: str = "latency",
    is_paced: bool = False,
) -> AskedSweep | None:
    """The sweep that was asked for; None where there is none. Raises UsageError.

    `never_with`: options that no sweep goes with, and whether they are given; `set_by_sweep`: the
    same for options that the sweep of a parameter sets itself. `known`: the parameters that the
    command has. `limit`: the value of `--limit`, for a percentile of the time that is called
    `limited`. `is_paced`: whether messages have a rate even where the sweep is not one of rates.
    """
    if not texts:
        if limit is not None:
            raise UsageError(
                f"--limit {limit} needs values to try: add --sweep, for example --sweep "
                f"{_EXAMPLES['rate']}"
            )
        return None
    if len(texts) > 1:
        raise UsageError(
            f"--sweep {texts[0]} and --sweep {texts[1]}: a measurement sweeps one parameter; give "
            "the other one a value"
        )
    asked = _read(texts[0], known)
    for option, is_given in never_with.items():
        if is_given:
            raise UsageError(f"{option} cannot be combined with --sweep: leave out one of them")
    for option, is_given in set_by_sweep.get(asked.parameter, {}).items():
        if is_given:
            raise UsageError(
                f"{option} cannot be combined with --sweep {asked.parameter}, which sets it "
                f"itself: leave out {option}"
            )
    if limit is None:
        return asked
    if not (is_paced or asked.parameter == "rate"):
        raise UsageError(
            f"--limit {limit} needs a rate: add --rate, or use --sweep {_EXAMPLES['rate']}"
        )
    return AskedSweep(asked.parameter, asked.low, asked.high, _read_limit(limit, limited))


def with_hold(asked: Held, hold_ns: float) -> Held:
    """The options with this hold in place of the holds that `coalesce` and `timer` have."""
    return replace(
        asked, only=held(asked.only, hold_ns), strategies=held(asked.strategies, hold_ns)
    )


def held(texts: Sequence[str], hold_ns: float) -> list[str]:
    """Names of strategies, or of ways that have one, with this hold in place of theirs."""
    shown = format_duration_ns(round(hold_ns))
    return [_HELD.sub(rf"\1:{shown}", text) for text in texts]


def usual_strategies(swept: AskedSweep | None, only: Sequence[str] | None) -> list[str]:
    """Empty for the usual strategies; for a sweep of holds, one with a hold and one without."""
    return [] if swept is None or swept.parameter != "hold" or only else list(_HELD_AND_NOT)


def check_swept(swept: AskedSweep | None, others: Mapping[str, object]) -> None:
    """Raise UsageError where what is swept needs a server of ours, and another is measured.

    `others`: the options of servers that are not ours, and whether they are given.
    """
    if swept is not None and swept.parameter != "rate":
        reason = "other servers are measured with --sweep rate alone"
        refuse_with(f"--sweep {swept.parameter}", others, f"{reason}; leave out one of the two")


def _read(text: str, known: Sequence[Parameter]) -> AskedSweep:
    name, equals, values = text.partition("=")
    parameter = next((each for each in _READ if each == name.strip()), None)
    low_text, dots, high_text = values.partition("..")
    if not equals or (parameter is None and not dots):
        raise UsageError(
            f"--sweep {text!r} is not PARAMETER=LOW..HIGH: for example --sweep "
            f"{_EXAMPLES[known[0]]}"
        )
    if parameter is None or parameter not in known:
        raise UsageError(
            f"--sweep {text!r}: this command has no {name.strip()!r}; it sweeps {', '.join(known)}"
        )
    if not (dots and low_text.strip() and high_text.strip()):
        raise UsageError(
            f"--sweep {text!r} is no range: write the lowest and the highest value, for example "
            f"--sweep {_EXAMPLES[parameter]}"
        )
    try:
        low, high = (float(_READ[parameter](each)) for each in (low_text, high_text))
    except UsageError as error:
        raise UsageError(f"--sweep {text!r}: {error}") from error
    if low > high:
        raise UsageError(
            f"--sweep {text!r} is reversed: write the smaller value first, "
            f"{parameter}={high_text.strip()}..{low_text.strip()}"
        )
    if low == high:
        raise UsageError(f"--sweep {text!r} has a single value: name two that differ")
    return AskedSweep(parameter, low, high)


def _read_limit(text: str, limited: str) -> Limit:
    name, less, duration = (part.strip() for part in text.partition("<"))
    if not less or name not in _LIMITED:
        raise UsageError(
            f"--limit {text!r} is not PERCENTILE<DURATION with one of {', '.join(_LIMITED)}: for "
            f"example {_LIMIT_EXAMPLE}"
        )
    try:
        return Limit(f"{limited}_{_LIMITED[name]}_us", parse_duration_ns(duration) / 1e3)
    except UsageError as error:
        raise UsageError(f"--limit {text!r}: {error}") from error
