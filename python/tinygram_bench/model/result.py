"""The result file: one JSON document that every report is rebuilt from.

Laws: values are frozen; units are in the names; `runs` is raw and immutable, `summaries` and
`verdicts` are derived from it; a failed run stays in the file and says why it failed. A histogram
is the standard HDR V2 compressed form in base64, in nanoseconds, 3 significant digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Literal

import msgspec

from tinygram_bench.model.cross_check import CrossCheck
from tinygram_bench.model.parameters import AnyParameters
from tinygram_bench.model.sweep import Sweep
from tinygram_bench.model.value import Value

SCHEMA_VERSION = 2

EVERY_FIGURE = ("",)
"""The prefix of a warning that bars every figure; it bars those whose names begin with a prefix."""


class MessageBytes(Value, frozen=True):
    """Message sizes, uniform from `min` to `max`, both included, in bytes."""

    min: int
    max: int


class Case(Value, frozen=True):
    """One point: workload × runtime × implementation × strategy × link × parameters.

    `rate_per_s` and `arrival` are null where the case runs flat out; `burst` too, but in `fanout`.
    """

    case_id: str
    workload: str
    runtime: str
    implementation: str
    strategy: str
    link: str
    message_bytes: MessageBytes
    rate_per_s: float | None
    arrival: str | None
    burst: int | None
    producers: int
    connections: int
    placement: str
    parameters: AnyParameters

    def __post_init__(self) -> None:
        """Raises ValueError for what no measurement makes, as a file may have it."""
        of_parameters = type(self.parameters).__struct_config__.tag
        if self.workload != of_parameters:
            raise ValueError(
                f"{self.case_id} is of the workload {self.workload!r} and has parameters of "
                f"{of_parameters!r}"
            )

    @property
    def is_flat_out(self) -> bool:
        """Whether messages are sent as fast as the sender can."""
        return self.rate_per_s is None


class Unavailable(Value, frozen=True):
    """A case that was asked for and cannot run here, and why."""

    case: Case
    reason: str


class Plan(Value, frozen=True, omit_defaults=True):
    """The runs to make: every case once in each round, each round in its own seeded order.

    The plan ends before its last round where all comparisons are as narrow as `until_share` (half
    an interval's width ÷ its median), or where another round would exceed `max_time_ns`. With a
    `sweep`, cases and rounds are added while it runs, and a round has the cases of its step.
    """

    cases: tuple[Case, ...]
    rounds: int
    seed: int
    unavailable: tuple[Unavailable, ...] = ()
    until_share: float | None = None
    max_time_ns: int | None = None
    sweep: Sweep | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for what no measurement makes, as a file may have it."""
        known = [case.case_id for case in self.cases]
        if len(set(known)) < len(known):
            raise ValueError("two cases of the plan have the same case_id")

    def due(self, round: int) -> tuple[Case, ...]:
        """The cases that run in the given round."""
        if self.sweep is None:
            return self.cases
        sweep = self.sweep
        return tuple(case for case in self.cases if sweep.is_due(case.case_id, round))


class Warning(Value, frozen=True):
    """Something that a reader of the figure must know.

    `figures`: prefixes of the names of figures that get no verdict because of it; empty: none.
    """

    code: str
    message: str
    figures: tuple[str, ...] = ()


class Samples(Value, frozen=True):
    """What the kernel held of a run's connections, sampled every `interval_ns` during the run.

    `columns`: name → one whole number for each sample. `at_ns` counts from the run's start.
    `client_…` are sums over the ends that connected, `server_…` over those that were accepted;
    `…_rtt_us` are the largest. Over a link only the client's host is sampled, without `server_…`
    and listeners. A run has at most 512 samples: those of a longer run are further apart.
    """

    interval_ns: int
    columns: dict[str, tuple[int, ...]]


class LinkFacts(Value, frozen=True):
    """How the link of a run was made, the same in both directions.

    `meaning`: all values that were asked for, also where the link is a preset. `device`: what
    programs see, `tun` or `veth`. `rtt_ns` null: no delay was asked for; `bandwidth_bits_per_s`
    null: unlimited, and there is no queue. `device_queue_packets`: 0 for a device that hands
    packets over at once; netem's queue includes packets on their way. `asked_rtt_ns`,
    `found_rtt_ns`, `left_rtt_ns`: the round trip of a ping-pong over the new link, without jitter
    and loss, with at most 5 ms each way and at least 10 Mbit/s: as asked for, as found, and as
    found with half of `excess_ns` taken off each direction. `calibration_age_ns`: how long ago that
    excess was found, over a link of the same values; 0: over this one; null: there is none.
    """

    meaning: str
    backend: str
    device: str
    rtt_ns: int | None
    bandwidth_bits_per_s: int | None
    jitter_ns: int
    loss: float
    queue_bytes: int | None
    mtu_bytes: int
    device_queue_packets: int
    has_offload: bool
    is_rootless: bool
    asked_rtt_ns: int | None
    found_rtt_ns: int | None
    left_rtt_ns: int | None
    excess_ns: int | None
    calibration_age_ns: int | None = None

    @property
    def measured_rtt_ns(self) -> int | None:
        """The round trip of the last ping-pong: after calibrating, where that was done."""
        return self.found_rtt_ns if self.left_rtt_ns is None else self.left_rtt_ns


TIMES_OF_A_HOST = ("p50", "p99", "max")
"""The statistics of a time in a `HostRun`."""


class HostRun(Value, frozen=True):
    """A generator's part in a run of a cluster (`--cluster`), as explained in schema/properties.py.

    Only flat-out runs have `throughput_per_s`, only paced streams `latency_…`, only `rr` `call…`,
    and only `echo` `round_trip…`: TIMES_OF_A_HOST of each.
    """

    host: str
    server: str
    connections: int
    rate_per_s: float | None
    messages: int | None
    throughput_per_s: float | None
    latency_p50_us: float | None
    latency_p99_us: float | None
    latency_max_us: float | None
    clock_bound_ns: int | None
    step_error_ns: int | None
    late_start_ns: int | None
    warnings: tuple[str, ...] = ()
    failure: str | None = None
    calls: int | None = None
    calls_per_s: float | None = None
    call_p50_us: float | None = None
    call_p99_us: float | None = None
    call_max_us: float | None = None
    round_trip_p50_us: float | None = None
    round_trip_p99_us: float | None = None
    round_trip_max_us: float | None = None


class Run(Value, frozen=True):
    """The outcome of one case in one round. `failure` is null where the run succeeded.

    `counters` are raw whole numbers, the unit last in the name; null: not known here. `samples` are
    null unless they were asked for; `link` is null where both ends are on one host.
    `sample_counts`: how many values each histogram holds; schema/figures.py says what they are.
    `slices`: figure → its value in each slice of a run that took turns, or, for percentiles that
    need more messages, in each block of slices; null where there were too few. For `sizes`: in each
    cycle, or block of cycles. For a cluster, rates there are the hosts' sum, `late_us` is the
    latest host's, and the rest are means over hosts. `hosts`: each generator's part, only for a
    cluster. `figures`: only in a condensed result, in place of histograms and slices.
    """

    case_id: str
    round: int
    counters: dict[str, int | None]
    histograms: dict[str, str]
    warnings: tuple[Warning, ...] = ()
    failure: str | None = None
    samples: Samples | None = None
    link: LinkFacts | None = None
    sample_counts: dict[str, int] = msgspec.field(default_factory=dict)
    slices: dict[str, tuple[float | None, ...]] = msgspec.field(default_factory=dict)
    hosts: tuple[HostRun, ...] = ()
    figures: dict[str, float] = msgspec.field(default_factory=dict)


RunCases = Callable[[Sequence[Case], int], Sequence[Run]]
"""Runs a group of cases once, in the given round: one alone, or several that take turns."""


class Figure(Value, frozen=True):
    """A median over the rounds and the ends of its order-statistic interval.

    For extremes, and for percentiles that not every round alone supports, `median` is the value
    over all rounds' samples together, between the lowest and the highest of the rounds' own values.
    """

    median: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the interval's width, as a share of the median."""
        return (self.high - self.low) / 2 / self.median if self.median else inf


class Summary(Value, frozen=True):
    """The statistics over the rounds of one case.

    `figures`: name → figure, null where it is not known. `confidence`: how often an interval
    `low … high` from this many rounds covers the true median (0.984 for seven rounds), a lower
    bound where the plan has `until_share`; not for figures of all rounds' samples together.
    """

    case: Case
    rounds: int
    failed_rounds: int
    confidence: float
    figures: dict[str, Figure | None]
    warnings: tuple[Warning, ...] = ()


class Verdict(Value, frozen=True):
    """How one figure of a case compares with a baseline's, round by round.

    `ratio` is case ÷ baseline; null where no round has both. `reason` says why a verdict is
    `cannot_say`, and `doubt` names the kind of reason. Beside `faster` and `slower` they say that
    the ratio has two modes, both on that side of 1; its interval then holds both.
    """

    baseline_case_id: str
    case_id: str
    figure: str
    ratio: Figure | None
    verdict: Literal["faster", "slower", "no_difference_shown", "cannot_say"]
    reason: str | None = None
    doubt: str | None = None

    @property
    def has_no_size(self) -> bool:
        """Whether it is shown which case is faster, and two modes leave no size of that."""
        return self.doubt is not None and self.verdict in ("faster", "slower")


class Resumption(Value, frozen=True):
    """A continuation, with `--resume`, of a measurement that had ended.

    `started_at` and `host` as in `Result`; `finished_runs`: how many runs were kept, those of
    finished rounds. `differs`: the facts of the environment that had changed.
    """

    started_at: str
    host: str | None
    finished_runs: int
    differs: dict[str, Any]


class Ending(Value, frozen=True):
    """How a measurement ended whose number of rounds was not fixed.

    `looks`: how many were made, the last one at the end. `cause`: every comparison is as narrow as
    the plan asks; another round would have taken too long; all rounds of the plan were run; or a
    sweep has all the points that it needs. `confidence`: of a comparison that has every round.
    """

    rounds: int
    looks: int
    cause: Literal["narrow", "time", "rounds", "points"]
    confidence: float


class Result(Value, frozen=True):
    """The whole file. `cross_check` is null unless it was asked for.

    `started_at`: when the measurement began, in UTC (ISO 8601); `host`: the host's name, null with
    `--anonymous`. `answer`: the sentences that say what was found. `resumptions`: each time that it
    was resumed; `environment` is that of its first start. `ending` is null where the plan fixes the
    number of rounds, or where it was interrupted. `is_thinned`, `is_condensed`: the result is from
    a large page, with less in its histograms, or without any (report/page/).
    """

    schema_version: int
    command: tuple[str, ...]
    environment: dict[str, Any]
    plan: Plan
    runs: tuple[Run, ...]
    summaries: tuple[Summary, ...]
    verdicts: tuple[Verdict, ...]
    cross_check: CrossCheck | None = None
    started_at: str | None = None
    host: str | None = None
    answer: tuple[str, ...] = ()
    resumptions: tuple[Resumption, ...] = ()
    ending: Ending | None = None
    is_thinned: bool = False
    is_condensed: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError where the result has cases that its plan does not have."""
        known = {case.case_id for case in self.plan.cases}
        if self.plan.sweep is not None:
            counts = {len(point.case_ids) for point in self.plan.sweep.points}
            if not counts:
                raise ValueError("a sweep without points")
            if len(counts) > 1 or 0 in counts:
                raise ValueError("the points of a sweep have not as many cases each")
        told = {
            "point": [] if self.plan.sweep is None else self.plan.sweep.swept_ids,
            "run": [run.case_id for run in self.runs],
            "summary": [each.case.case_id for each in self.summaries],
            "verdict": [id_ for it in self.verdicts for id_ in (it.baseline_case_id, it.case_id)],
        }
        for what, ids in told.items():
            for case_id in ids:
                if case_id not in known:
                    raise ValueError(f"a {what} of {case_id}, which is not in the plan")


class Named(Value, frozen=True):
    """A result and its name: that of its file without the suffix."""

    name: str
    result: Result
