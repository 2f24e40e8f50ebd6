"""How long a measurement is: its rounds, the runs of each, and the slices of these."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct

from tinygram_bench.cli import quantities
from tinygram_bench.cli.bounds import duration_between_ns
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.statistics.figures.intervals import LOOKS
from tinygram_bench.statistics.verdicts.comparison import has_comparisons

USUAL_ROUNDS = 7
_SHARE = (0.001, 0.5)
_MAX_TIME_NS = (10**9, 24 * 3_600 * 10**9)

MostRounds = Annotated[
    int | None,
    quantities.count("How often each case is run; verdicts need six rounds.", str(USUAL_ROUNDS)),
]
Until = Annotated[
    float | None,
    quantities.share(
        "Add rounds until half the interval of every comparison's first figure (throughput, or the "
        "median) is this share of its ratio, for example 2%; looks after "
        f"{', '.join(map(str, LOOKS[:-1]))} and {LOOKS[-1]} rounds, and intervals are wider to pay "
        "for that."
    ),
]
MaxTime = Annotated[
    int | None,
    quantities.duration("Begin no round that would take all rounds past this time."),
]


Lone = Annotated[
    bool,
    typer.Option(
        "--lone", help="Run each case alone; otherwise the cases of a load take turns in slices."
    ),
]
USUAL_TIME_LIMIT_NS = 120 * 10**9
TimeLimit = Annotated[
    int,
    quantities.duration(
        "Time limit for each run, beyond its duration.", format_duration_ns(USUAL_TIME_LIMIT_NS)
    ),
]


def duration_option(default: str) -> Any:
    """The option `--duration`, of each run."""
    return quantities.duration("Duration of each run.", default)


def slice_option(default: str) -> Any:
    """The option `--slice`."""
    return quantities.duration(
        "Length of a case's turns beside the other cases of its load. The report tells where they "
        "were longer, because a turn would have held too few messages or calls.",
        default,
    )


class Length(Struct, frozen=True):
    """The most rounds that a plan has, and when it ends after fewer."""

    rounds: int
    until_share: float | None
    max_time_ns: int | None

    def of(self, plan: Plan) -> Plan:
        """The plan with this length. Raises UsageError for `--until` without any comparison."""
        if self.until_share is not None and not has_comparisons(plan):
            raise UsageError(
                f"--until {_percent(self.until_share)}: no two of these cases are compared; name "
                "more of them, or leave out --until"
            )
        return msgspec.structs.replace(
            plan, until_share=self.until_share, max_time_ns=self.max_time_ns
        )


def length(
    rounds: int | None,
    until_share: float | None,
    max_time_ns: int | None,
    usual: int = USUAL_ROUNDS,
) -> Length:
    """The length that was asked for; `usual` rounds where none was. Raises UsageError."""
    if max_time_ns is not None:
        duration_between_ns("--max-time", max_time_ns, *_MAX_TIME_NS)
    if until_share is None:
        return Length(usual if rounds is None else rounds, None, max_time_ns)
    low, high = _SHARE
    if not low <= until_share <= high:
        raise UsageError(
            f"--until {_percent(until_share)} is outside {_percent(low)} … {_percent(high)}"
        )
    if rounds is not None:
        raise UsageError(
            "--rounds cannot be combined with --until, which finds out how many are needed: leave "
            "out --rounds; --max-time limits how long that takes"
        )
    return Length(LOOKS[-1], until_share, max_time_ns)


def _percent(share: float) -> str:
    return f"{share * 100:.10g}%"
