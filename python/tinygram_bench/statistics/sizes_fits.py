"""The model of `sizes`, fitted in each round to the medians of its cells.

A parameter is the median of the rounds' own fits, with its order-statistic interval, as every other
figure: this assumes nothing of how the errors are spread, and includes what drifts between rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, Figure, Plan, Run, Summary
from tinygram_bench.statistics.figures.intervals import figure_of
from tinygram_bench.statistics.figures.samples import Sample, samples_of
from tinygram_bench.statistics.sizes_model import Model, Point, fitted
from tinygram_bench.statistics.workloads.sizes import TIME, is_exchange

_PARAMETERS: dict[str, Callable[[Model], float | None]] = {
    "model_setup_us": lambda model: model.setup_us,
    "model_latency_us": lambda model: model.latency_us,
    "model_mb_per_s": lambda model: model.mb_per_s,
    "model_n_half_bytes": lambda model: model.n_half_bytes,
    "model_n90_bytes": lambda model: model.n90_bytes,
}
CALLS_OF_TRIP = 4
"""System calls of a round trip: a write and a read at either end."""


class Fit(Struct, frozen=True):
    """The cases that were fitted together, and the model of each round."""

    cases: tuple[Case, ...]
    times_us: Mapping[str, Mapping[int, float]]
    models: Mapping[int, Model]

    def figures(self) -> dict[str, Figure | None]:
        """The model's parameters, name → figure; None where a round does not tell the parameter."""
        return {
            name: _figure([parameter(model) for model in self.models.values()])
            for name, parameter in _PARAMETERS.items()
        }

    def residual_percent(self, case: Case) -> Figure | None:
        """How much longer the case took than the model of the round says, in % of what it took."""
        return _figure(
            [
                100 * model.residual(_point(case, self.times_us[case.case_id][round]))
                for round, model in self.models.items()
                if round in self.times_us[case.case_id]
            ]
        )

    def predicted_us(self, size_bytes: int, trips: int) -> Figure | None:
        """The time of a sample of this size, its connect and setup included."""
        return _figure([model.time_us(size_bytes, trips) for model in self.models.values()])


def fits_of(plan: Plan, runs: Sequence[Run]) -> tuple[Fit, ...]:
    """A fit for each strategy, number of setup writes, server and link of `sizes`.

    A fit has no models where the cells do not tell the parameters apart.
    """
    groups: dict[object, list[Case]] = {}
    for case in plan.cases:
        if is_exchange(case):
            groups.setdefault(_group(case), []).append(case)
    exchanges = [case for cases in groups.values() for case in cases]
    samples = _samples(plan, runs, exchanges, "total_ns")
    return tuple(_fit(cases, samples) for cases in groups.values())


def with_models(
    plan: Plan, runs: Sequence[Run], summaries: Sequence[Summary]
) -> tuple[Summary, ...]:
    """The summaries, with the model's figures for each case of `sizes`."""
    told = {}
    for fit in fits_of(plan, runs):
        of_all = fit.figures()
        for case in fit.cases:
            residual = {"model_residual_percent": fit.residual_percent(case)}
            told[case.case_id] = of_all | residual
    return tuple(
        msgspec.structs.replace(each, figures=each.figures | told[each.case.case_id])
        if each.case.case_id in told
        else each
        for each in summaries
    )


def local_parts(plan: Plan, runs: Sequence[Run]) -> dict[str, Figure | None]:
    """The parts of a round trip on this host, in µs, each from the rounds that have both sides.

    `system calls`: four system calls that do nothing. `stack`: the time that a round trip within
    one thread takes beyond these. `same core`, `other core`: what a second thread there adds.
    """
    named = {
        part: case for case in plan.cases if (part := SizesParameters.of(case).part) is not None
    }
    samples = _samples(plan, runs, list(named.values()), "part_ns")

    def rounds(part: str) -> dict[int, float]:
        case = named.get(part)
        return samples[case.case_id].values("part_p50_us") if case else {}

    calls = {round: CALLS_OF_TRIP * each for round, each in rounds("system-call").items()}
    alone = rounds("one-thread")
    return {
        "system calls": _figure(list(calls.values())),
        "stack": _difference(alone, calls),
        "same core": _difference(rounds("same-core"), alone),
        "other core": _difference(rounds("other-core"), alone),
    }


def _samples(
    plan: Plan, runs: Sequence[Run], cases: Sequence[Case], histogram: str
) -> dict[str, Sample]:
    """The samples of these cases, with only one histogram of each run: reading more takes long."""
    asked = {case.case_id for case in cases}
    kept = [
        msgspec.structs.replace(
            run,
            histograms={name: text for name, text in run.histograms.items() if name == histogram},
        )
        for run in runs
        if run.case_id in asked
    ]
    return samples_of(msgspec.structs.replace(plan, cases=tuple(cases)), kept)


def _group(case: Case) -> tuple[object, ...]:
    asked = SizesParameters.of(case)
    return (case.strategy, case.link, case.placement, asked.setup_writes, asked.server_address)


def _fit(cases: Sequence[Case], samples: Mapping[str, Sample]) -> Fit:
    """Fit the rounds in which every cell has a time; cells without any time are left out."""
    times_us = {case.case_id: samples[case.case_id].values(TIME) for case in cases}
    measured = [case for case in cases if times_us[case.case_id]]
    shared = [set(times_us[case.case_id]) for case in measured]
    models = {}
    for round in sorted(set.intersection(*shared)) if shared else ():
        model = fitted([_point(case, times_us[case.case_id][round]) for case in measured])
        if model is not None:
            models[round] = model
    return Fit(tuple(cases), times_us, models)


def _point(case: Case, time_us: float) -> Point:
    return Point(case.message_bytes.max, SizesParameters.of(case).round_trips, time_us)


def _difference(of: Mapping[int, float], less: Mapping[int, float]) -> Figure | None:
    return _figure([of[round] - less[round] for round in of if round in less])


def _figure(values: Sequence[float | None]) -> Figure | None:
    known = [value for value in values if value is not None]
    return figure_of(known) if known and len(known) == len(values) else None
