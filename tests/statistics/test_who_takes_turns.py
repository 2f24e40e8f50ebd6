"""Whatever is compared takes turns; which cases of `rr` do, and how others are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.experiments import paced_run, plan_of, way

from tinygram_bench.api import Plan
from tinygram_bench.model.parameters import RrParameters
from tinygram_bench.model.result import Case
from tinygram_bench.model.store import load
from tinygram_bench.statistics.figures.samples import Sample, samples_of
from tinygram_bench.statistics.verdicts.comparison import round_ratios
from tinygram_bench.statistics.workloads import WORKLOADS
from tinygram_bench.statistics.workloads.loads import SLICE_LASTED, Load, is_alone, turns_of
from tinygram_bench.statistics.workloads.rr import compared_pairs
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr

PLANS: dict[str, Callable[[], Plan]] = {
    "stream": Plan.stream,
    "stream at rates": lambda: Plan.stream(rate=[1_000, 10_000], every=True),
    "stream both ways": lambda: Plan.stream(bidirectional=True),
    "stream over TLS": lambda: Plan.stream(tls=True, plain=True),
    "rr": Plan.rr,
    "rr on every runtime": lambda: Plan.rr(
        runtime=["threads", "asyncio", "uvloop", "native"],
        server_runtime=["native", "asyncio"],
        connections=["per-caller", "shared", "50"],
        rate=[500, 2_000],
    ),
    "echo": Plan.echo,
    "echo with a program": lambda: Plan.echo(server_command="cat", port=9_000, rate=[2_000]),
    "fanout": Plan.fanout,
    "sizes": lambda: Plan.sizes(strategy=["nagle", "nodelay"], setup_writes=[1, 2]),
}


def compared(cases: Sequence[Case]) -> Iterator[tuple[Case, Case]]:
    """All that may get a verdict: pairs that the workload names, or else all of a load."""
    named = WORKLOADS[cases[0].workload].pairs
    if named is None:
        yield from (pair for pair in combinations(cases, 2) if Load.of(pair[0]) == Load.of(pair[1]))
    else:
        by_id = {case.case_id: case for case in cases}
        yield from ((by_id[one], by_id[other]) for one, other in named(cases))


@pytest.mark.parametrize("name", PLANS)
def test_whatever_is_compared_takes_turns(name: str) -> None:
    pairs = list(compared(PLANS[name]().cases))
    assert pairs
    for one, other in pairs:
        assert not is_alone(one)
        assert turns_of(one) == turns_of(other)


@pytest.fixture
def sample() -> Sample:
    stored = load(Path(__file__).parents[1] / "model/stored/v1-rr.json")
    return next(iter(samples_of(stored.plan, stored.runs).values()))


def test_whoever_calls_and_answers_in_whatever_way_takes_turns(sample: Sample) -> None:
    key = turns_of(sample.case)
    for caller in ({"runtime": "another"}, {"implementation": "another"}, {"strategy": "another"}):
        assert turns_of(replace(sample.case, **caller)) == key
    for server in ({"server_runtime": "another"}, {"server_strategy": "another"}):
        assert turns_of(_changed(sample.case, **server)) == key


@pytest.mark.parametrize(
    "asked",
    [
        {"sends_per_request": 7},
        {"connections": "shared"},
        {"depth": 3},
        {"reply_bytes": 77},
        {"backlog": 7},
        {"tls": True},
    ],
)
def test_cases_that_are_asked_for_something_else_take_no_turns_together(
    sample: Sample, asked: dict[str, object]
) -> None:
    assert turns_of(_changed(sample.case, **asked)) != turns_of(sample.case)


def test_every_verdict_is_of_cases_that_take_turns() -> None:
    plan = plan_rr(
        RrOptions(
            runtimes=("threads", "asyncio", "native"),
            strategies=("nodelay", "nagle", "adaptive"),
            connections=("per-caller", "5"),
            servers=("native", "asyncio"),
            rates_per_s=(1_000.0, 2_000.0),
            takes_turns=True,
        )
    )
    cases = {case.case_id: case for case in plan.cases}
    pairs = [(cases[one], cases[other]) for one, other in compared_pairs(plan.cases)]
    assert {(one.runtime, other.runtime) for one, other in pairs} == {
        *(("threads", "threads"), ("asyncio", "asyncio"), ("native", "native")),
        # Each runtime is compared with the first: threads have a connection each, or none.
        *(("threads", "asyncio"), ("threads", "native"), ("asyncio", "native")),
    }
    assert [turns_of(one) for one, _ in pairs] == [turns_of(other) for _, other in pairs]


def test_cases_that_took_no_turns_together_are_compared_by_their_rounds(sample: Sample) -> None:
    one = _with_slices(sample, sample.case, (10.0, 20.0))
    other = _with_slices(sample, _changed(sample.case, backlog=7), (10.0, 30.0, 40.0))
    again = _with_slices(sample, _changed(sample.case, server_strategy="a"), (10.0, 30.0))
    assert set(round_ratios(one, other, "calls_per_s")) == {1.0}
    assert set(round_ratios(one, again, "calls_per_s")) == {1.25}


@pytest.mark.parametrize("their_slices", [(10.0, 30.0), (10.0, 30.0, 40.0)])
@pytest.mark.parametrize("whose", ["callers", "server"])
def test_runtimes_that_took_their_turns_apart_are_compared_by_their_rounds(
    sample: Sample, whose: str, their_slices: tuple[float, ...]
) -> None:
    """Runs of earlier versions do not tell how long slices lasted."""
    of_another = {
        "callers": replace(sample.case, runtime="another"),
        "server": _changed(sample.case, server_runtime="another"),
    }
    one = _with_slices(sample, sample.case, (10.0, 20.0))
    other = _with_slices(sample, of_another[whose], their_slices)
    assert set(round_ratios(one, other, "calls_per_s")) == {1.0}
    for told, untold in ((one, other), (other, one)):
        assert set(round_ratios(_lasting(told), untold, "calls_per_s")) == {1.0}


@pytest.mark.parametrize("whose", ["callers", "server"])
def test_runtimes_that_took_turns_with_each_other_are_compared_by_their_slices(
    sample: Sample, whose: str
) -> None:
    of_another = {
        "callers": replace(sample.case, runtime="another"),
        "server": _changed(sample.case, server_runtime="another"),
    }
    one = _lasting(_with_slices(sample, sample.case, (10.0, 20.0)))
    other = _lasting(_with_slices(sample, of_another[whose], (10.0, 30.0)))
    assert set(round_ratios(one, other, "calls_per_s")) == {1.25}
    # A single run that does not tell it is of an earlier version.
    first, *others = other.good_runs
    earlier = replace(first, counters={**first.counters})
    del earlier.counters[SLICE_LASTED]
    mixed = replace(other, good_runs=(earlier, *others))
    assert set(round_ratios(one, mixed, "calls_per_s")) == {1.0}


def test_runtimes_of_other_workloads_took_turns_in_earlier_versions_too() -> None:
    cases = [way(name, 1_000) for name in ("loop/nodelay", "threads/nodelay")]
    cases = [
        replace(case, parameters=replace(case.parameters, slice_ns=20_000_000)) for case in cases
    ]
    runs = [
        replace(paced_run(case, 0, 100), slices={"latency_p50_us": us})
        for case, us in zip(cases, ((10.0, 20.0), (10.0, 30.0)), strict=True)
    ]
    one, other = samples_of(plan_of(cases, runs), runs).values()
    assert round_ratios(one, other, "latency_p50_us") == (1.25,)


def _changed(case: Case, **parameters: object) -> Case:
    return replace(case, parameters=replace(RrParameters.of(case), **parameters))


def _with_slices(sample: Sample, case: Case, values: tuple[float, ...]) -> Sample:
    runs = tuple(
        replace(
            run,
            slices={"calls_per_s": values},
            counters={**run.counters, "slices": len(values)},
        )
        for run in sample.good_runs
    )
    return Sample(case, sample.rounds, runs, sample.failed_rounds)


def _lasting(sample: Sample) -> Sample:
    """Its runs tell how long slices lasted."""
    runs = tuple(
        replace(run, counters={**run.counters, SLICE_LASTED: 20_000_000})
        for run in sample.good_runs
    )
    return replace(sample, good_runs=runs)
