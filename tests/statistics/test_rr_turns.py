"""Which cases of `rr` take turns, and how those that do not are compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case
from tinygram_bench.model.store import load
from tinygram_bench.statistics.figures.samples import Sample, samples_of
from tinygram_bench.statistics.verdicts.comparison import round_ratios
from tinygram_bench.statistics.workloads.loads import turns_of


@pytest.fixture
def sample() -> Sample:
    stored = load(Path(__file__).parents[1] / "model/stored/v1-rr.json")
    return next(iter(samples_of(stored.plan, stored.runs).values()))


def test_cases_that_differ_in_a_strategy_of_either_side_take_turns(sample: Sample) -> None:
    assert turns_of(sample.case) == turns_of(replace(sample.case, strategy="another"))
    assert turns_of(sample.case) == turns_of(_changed(sample.case, server_strategy="another"))
    assert turns_of(sample.case) != turns_of(_changed(sample.case, backlog=7))


def test_cases_that_took_no_turns_together_are_compared_by_their_rounds(sample: Sample) -> None:
    one = _with_slices(sample, sample.case, (10.0, 20.0))
    other = _with_slices(sample, _changed(sample.case, backlog=7), (10.0, 30.0, 40.0))
    again = _with_slices(sample, _changed(sample.case, server_strategy="a"), (10.0, 30.0))
    assert set(round_ratios(one, other, "calls_per_s")) == {1.0}
    assert set(round_ratios(one, again, "calls_per_s")) == {1.25}


def _changed(case: Case, **parameters: object) -> Case:
    return replace(case, parameters=replace(RrParameters.of(case), **parameters))


def _with_slices(sample: Sample, case: Case, values: tuple[float, ...]) -> Sample:
    runs = tuple(replace(run, slices={"calls_per_s": values}) for run in sample.good_runs)
    return Sample(case, sample.rounds, runs, sample.failed_rounds)
