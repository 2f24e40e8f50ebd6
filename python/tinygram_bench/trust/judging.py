"""What a result of `tinygram trust` says: what is resolved, what was found, what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.host.noise_floor import NoiseFloor, this_machine
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Case, Figure, Plan, Result, Summary, Warning
from tinygram_bench.statistics.figures.intervals import TARGET_COVERAGE, confidence_of, figure_of
from tinygram_bench.statistics.figures.samples import Sample, samples_of
from tinygram_bench.statistics.figures.words import in_words
from tinygram_bench.statistics.summary import summarise
from tinygram_bench.statistics.verdicts.comparison import round_ratios
from tinygram_bench.statistics.workloads.loads import Load, load_name
from tinygram_bench.trust.both_ways import LONE
from tinygram_bench.trust.plan import AGAIN, BYTE, BYTES, FROZEN, SPIN, variant_of

FROZEN_RANK = 0.99
_MOST_OFF = 0.02
"""A p99 that is further from the theoretical one, as a share, is wrong."""


class Compared(Struct, frozen=True):
    """A figure of a load: the ratio of a case to itself, or of one with a planted difference to it.

    `variant`: `again`, or the name of what was planted. `planted_ns`: how long that takes, once.
    `share`: that time as a share of the figure, where each message has it; None: it has not.
    """

    case: Case
    figure: str
    variant: str
    ratio: Figure
    planted_ns: int = 0
    share: float | None = None

    @property
    def half_width(self) -> float:
        """Half the interval's width, as a share of its median."""
        return self.ratio.half_width

    @property
    def found(self) -> float:
        """The difference that is nearly always found, as a share.

        The interval from the least to the greatest of six rounds reaches 1.27 of their deviations
        to each side. All six are beyond 1 with a chance of 95 % where the difference is 2.4
        deviations, 1.9 times as much. A difference of half an interval would be found only half of
        the time.
        """
        return 2 * self.half_width

    @property
    def is_shown(self) -> bool:
        """Whether the interval says that both differ."""
        return not self.ratio.low <= 1 <= self.ratio.high


class Frozen(Struct, frozen=True):
    """p99 of a run whose receiver was stopped for a while, and the p99 that it must have, in µs."""

    p99_us: float
    expected_us: float

    @property
    def is_right(self) -> bool:
        return abs(self.p99_us / self.expected_us - 1) <= _MOST_OFF


class Counted(Struct, frozen=True):
    """Messages that were planned to be a byte longer, and those of the unchanged case, as counted.

    `bytes_each`: the bytes per message that came, in each run of the case, and of the longer one.
    """

    bytes_each: tuple[tuple[float, ...], tuple[float, ...]]

    @property
    def is_right(self) -> bool:
        base, longer = self.bytes_each
        return set(base) == {BYTES} and set(longer) == {BYTES + 1}


class BothWays(Struct, frozen=True):
    """A figure of a case in slices, and of the same case alone."""

    case: Case
    figure: str
    in_slices: Figure
    alone: Figure

    @property
    def is_apart(self) -> bool:
        """Whether the two intervals do not overlap."""
        return self.in_slices.high < self.alone.low or self.alone.high < self.in_slices.low


class Trusted(Struct, frozen=True):
    """All that was found. `pair_s`: for how long two cases were compared, in s."""

    compared: tuple[Compared, ...]
    both_ways: tuple[BothWays, ...]
    counted: Counted | None
    frozen: Frozen | None
    confidence: float
    pair_s: float

    @property
    def is_sure(self) -> bool:
        """Whether there were rounds enough for intervals; with fewer, their width says nothing."""
        return self.confidence >= TARGET_COVERAGE

    @property
    def is_right(self) -> bool:
        """Whether known values came out: the bytes that were sent, and the p99 after a stop."""
        return all(each is None or each.is_right for each in (self.counted, self.frozen))

    @property
    def apart(self) -> tuple[BothWays, ...]:
        """The figures that differ between slices and runs that are alone."""
        return tuple(each for each in self.both_ways if each.is_apart) if self.is_sure else ()

    @property
    def alike(self) -> tuple[Compared, ...]:
        """The cases that were compared with themselves."""
        return tuple(each for each in self.compared if each.variant == AGAIN)

    @property
    def planted(self) -> tuple[Compared, ...]:
        """The cases with a planted difference."""
        return tuple(each for each in self.compared if each.variant != AGAIN)


def noise_floor_of(result: Result, trusted: Trusted) -> NoiseFloor | None:
    """The machine's noise floor, for other results; None where there are too few rounds."""
    resolved: dict[str, dict[str, float]] = {}
    for each in trusted.alike:
        resolved.setdefault(load_name(each.case), {})[each.figure] = each.half_width
    if not resolved or not trusted.is_sure or result.started_at is None:
        return None
    machine = this_machine()
    return NoiseFloor(result.started_at, machine, trusted.confidence, trusted.pair_s, resolved)


def judged(result: Result) -> Trusted:
    """What the result says, just measured or stored."""
    samples = samples_of(result.plan, result.runs)
    again = [each for case_id, each in samples.items() if variant_of(case_id)[1] == AGAIN]
    rounds = min((len(each.rounds) for each in samples.values() if _takes_turns(each)), default=0)
    duration_ns = max(
        (getattr(each.case.parameters, "duration_ns", 0) or 0 for each in again), default=0
    )
    return Trusted(
        tuple(_compared(samples)),
        tuple(_both_ways(samples)),
        _counted(samples),
        _frozen(samples),
        confidence_of(rounds),
        2 * rounds * duration_ns / 1e9,
    )


def with_warnings(result: Result) -> Result:
    """The result with a summary of each case that was measured in slices and alone.

    Where the two ways disagree, the case has the warning `differs_alone`.
    """
    trusted = judged(result)
    case_ids = {each.case.case_id for each in trusted.both_ways}
    plan = replace(
        result.plan,
        cases=tuple(case for case in result.plan.cases if variant_of(case.case_id)[0] in case_ids),
    )
    if not plan.cases:
        return result
    return replace(result, summaries=tuple(_warned(plan, result, trusted)))


def _warned(plan: Plan, result: Result, trusted: Trusted) -> Iterator[Summary]:
    names = {case.case_id for case in plan.cases}
    for summary in summarise(plan, [run for run in result.runs if run.case_id in names]):
        apart = [
            each
            for each in trusted.apart
            if each.case.case_id == variant_of(summary.case.case_id)[0]
        ]
        if apart:
            figures = tuple(each.figure for each in apart)
            said = (
                f"{in_words(each.figure)} is {each.in_slices.median:.4g} in slices and "
                f"{each.alone.median:.4g} alone"
                for each in apart
            )
            message = f"beyond both intervals: {'; '.join(said)}"
            warning = Warning("differs_alone", message, figures)
            summary = replace(summary, warnings=(*summary.warnings, warning))
        yield summary


def _takes_turns(sample: Sample) -> bool:
    return sample.case.parameters.slice_ns is not None


def _compared(samples: dict[str, Sample]) -> Iterator[Compared]:
    for case_id, sample in samples.items():
        base_id, variant = variant_of(case_id)
        if variant in ("", BYTE, FROZEN, LONE) or base_id not in samples:
            continue
        base = samples[base_id]
        for figure in Load.of(base.case).compared_figures:
            if not base.slices(figure):
                continue  # The figure needs more messages than slices have.
            ratios = round_ratios(base, sample, figure)
            if ratios:
                planted_ns = 0 if variant == AGAIN else _planted_ns(base.case, sample.case)
                share = _share(figure, base, planted_ns) if variant == SPIN else None
                yield Compared(base.case, figure, variant, figure_of(ratios), planted_ns, share)


def _planted_ns(base: Case, planted: Case) -> int:
    before, after = (StreamParameters.of(each).study for each in (base, planted))
    return after.sleep_ns or after.spin_ns - before.spin_ns


def _share(figure: str, base: Sample, planted_ns: int) -> float | None:
    """What a spin before each message is of the case's figure, or of a message's time flat out."""
    found = base.figure(figure)
    if found is None or not found.median:
        return None
    # A second of CPU time for a million messages is 1 µs for each.
    of_us = 1e6 / found.median if figure == "throughput_per_s" else found.median
    return planted_ns / 1e3 / of_us


def _both_ways(samples: dict[str, Sample]) -> Iterator[BothWays]:
    for case_id, alone in samples.items():
        base_id, variant = variant_of(case_id)
        if variant != LONE or base_id not in samples:
            continue
        in_slices = samples[base_id]
        for figure in Load.of(in_slices.case).compared_figures:
            both = in_slices.figure(figure), alone.figure(figure)
            if in_slices.slices(figure) and both[0] is not None and both[1] is not None:
                yield BothWays(in_slices.case, figure, both[0], both[1])


def _counted(samples: dict[str, Sample]) -> Counted | None:
    """The check of the case whose messages were a byte longer; None where it has no good run."""
    for case_id, longer in samples.items():
        base_id, variant = variant_of(case_id)
        if variant == BYTE and base_id in samples and longer.good_runs:
            return Counted((_bytes_each(samples[base_id]), _bytes_each(longer)))
    return None


def _bytes_each(sample: Sample) -> tuple[float, ...]:
    counted = [(run.counters["bytes"], run.counters["messages"]) for run in sample.good_runs]
    return tuple(each / messages for each, messages in counted if each and messages)


def _frozen(samples: dict[str, Sample]) -> Frozen | None:
    """What the run says whose receiver was stopped; None where that run failed.

    Messages are due at a constant rate, and wait until the receiver goes on: with a stop of F in a
    run of D, the share F/D has latencies evenly from 0 to F; so 1 % are above F − 1 % of D.
    """
    for case_id, sample in samples.items():
        if variant_of(case_id)[1] != FROZEN:
            continue
        for run in sample.good_runs:
            frozen_ns = run.counters.get("frozen_ns")
            p99_us = sample.rounds[run.round].values["latency_p99_us"]
            duration_ns = getattr(sample.case.parameters, "duration_ns", None)
            if frozen_ns and p99_us and duration_ns:
                return Frozen(p99_us, (frozen_ns - (1 - FROZEN_RANK) * duration_ns) / 1e3)
    return None
