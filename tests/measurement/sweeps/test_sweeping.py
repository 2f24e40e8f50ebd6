"""A sweep's plan grows from its runs alone, ends, and goes on where it was left."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest
from tests.support.command import Command
from tests.support.experiments import paced_run, way

from tinygram_bench.measurement.measure import measure
from tinygram_bench.measurement.recording import summed_up
from tinygram_bench.measurement.resuming import check_plan, whole_rounds_of
from tinygram_bench.measurement.sweeping import Sweeping
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import SCHEMA_VERSION, Case, Plan, Result, Run
from tinygram_bench.model.store import Destination, load
from tinygram_bench.model.sweep import Limit, Sweep
from tinygram_bench.statistics.sweeps.choice import MOST_POINTS, first_values

LOW, HIGH, KNEE = 1_000.0, 500_000.0, 38_000.0
LIMIT = Limit("latency_p99_us", 1_000.0)
WAYS = ("loop/nodelay", "loop/coalesce:10us")


def asked(limit: Limit | None = None, rounds: int = 7) -> Sweep:
    return Sweep("rate", LOW, HIGH, rounds, limit)


def plan_at(rate: float) -> Plan:
    return Plan(tuple(way(text, rate) for text in WAYS), 7, 1)


def latency_us(text: str, rate: float) -> float:
    """A hockey stick for one way; the other is slower at low rates, and stays flat."""
    return 20.0 * max(1.0, rate / KNEE) ** 3 if text == WAYS[0] else 100.0


def run_of(text: str, rate: float, round: int) -> Run:
    noise = random.Random(f"{text}/{rate}/{round}").lognormvariate(0, 0.02)
    return paced_run(way(text, rate), round, latency_us(text, rate) * noise, samples=1_100)


def grown(
    sweeping: Sweeping, runs: tuple[Run, ...] = (), stop: Callable[[int], bool] = lambda _: False
) -> Result:
    """The result when it is over; or when it is stopped in the middle of a round."""
    done = {(run.case_id, run.round) for run in runs}
    for round in range(sweeping.most_rounds):
        if sweeping.is_over(round, runs):
            break
        for case in sweeping.order(sweeping.plan, round, runs):
            if (case.case_id, round) in done:
                continue
            if stop(round):
                return result_of(sweeping, runs)
            text = f"{case.runtime}/{case.strategy}"
            runs += (run_of(text, case.rate_per_s or 0, round),)
    return result_of(sweeping, runs)


def result_of(sweeping: Sweeping, runs: tuple[Run, ...]) -> Result:
    words = ("tinygram", "stream")
    return Result(SCHEMA_VERSION, words, {}, sweeping.plan, runs, (), (), ending=sweeping.ending)


def test_a_sweep_ends_with_points_around_what_was_sought_and_tells_it() -> None:
    result = summed_up(grown(Sweeping(asked(LIMIT), plan_at)))
    assert result.plan.sweep is not None
    assert len(result.plan.sweep.points) <= MOST_POINTS
    assert result.ending is not None
    assert result.ending.cause == "points"
    assert all(run.round < result.plan.rounds for run in result.runs)
    sustained, crossover = result.answer
    # What sustains most comes first.
    most = "loop/coalesce:10us sustains every rate up to 500,000/s, where the limit is not reached"
    assert sustained.startswith(f"With p99 latency below 1 ms: {most}")
    assert "; loop/nodelay sustains 1" in sustained
    assert "loop/coalesce:10us is faster than loop/nodelay, by p99 latency" in crossover
    assert crossover.startswith("Above 6")  # 20 × (rate ÷ 38,000)³ is 100 at 65,000/s.


def test_without_a_limit_knees_are_told() -> None:
    result = summed_up(grown(Sweeping(asked(), plan_at)))
    assert result.answer[0].startswith("Median latency rises faster from its knee on: loop/nodelay")
    assert "no knee is shown for loop/coalesce:10us" in result.answer[0]


def test_what_was_stopped_anywhere_goes_on_as_if_nothing_had_been() -> None:
    whole = grown(Sweeping(asked(LIMIT), plan_at))
    for last in (3, 9):
        left = whole_rounds_of(
            grown(Sweeping(asked(LIMIT), plan_at), stop=partial(int.__lt__, last))
        )
        assert {run.round for run in left.runs} == set(range(last + 1))
        again = Sweeping(asked(LIMIT), plan_at)
        check_plan(left, again.plan, Path("a.json"))
        again.go_on(left.plan)
        assert grown(again, left.runs) == whole


def test_another_sweep_does_not_go_on_with_the_file() -> None:
    left = grown(Sweeping(asked(LIMIT), plan_at), stop=lambda round: round > 3)
    for other in (asked(), asked(LIMIT, 8), msgspec.structs.replace(asked(LIMIT), high=1e6)):
        with pytest.raises(UsageError, match="cannot be resumed"):
            check_plan(left, Sweeping(other, plan_at).plan, Path("a.json"))


def test_time_ends_it_before_a_round_that_would_not_fit() -> None:
    now_s = iter(float(at) for at in range(1_000))
    sweeping = Sweeping(asked(), plan_at, 10 * 10**9, clock=lambda: next(now_s))
    result = grown(sweeping)
    assert result.ending is not None
    assert (result.ending.cause, result.ending.rounds) == ("time", 10)


def test_a_later_point_that_cannot_be_measured_leaves_what_is_finished(tmp_path: Path) -> None:
    def at(rate: float) -> Plan:
        if rate not in first_values(LOW, HIGH):
            raise UsageError(f"{rate} is no rate")
        return plan_at(rate)

    def run_cases(cases: Sequence[Case], round: int) -> list[Run]:
        ways = [(f"{case.runtime}/{case.strategy}", case.rate_per_s or 0) for case in cases]
        return [run_of(text, rate, round) for text, rate in ways]

    sweeping = Sweeping(asked(LIMIT), at)
    with pytest.raises(UsageError, match="is no rate"):
        measure(
            *(sweeping.plan, run_cases, Destination(tmp_path / "a.json")),
            is_quiet=True,
            is_awake=False,
            waits=False,
            command=("tinygram", "stream"),
            sweeping=sweeping,
        )
    kept = load(tmp_path / "a.json")
    assert len(kept.runs) == len(sweeping.plan.cases) * sweeping.plan.rounds
    assert kept.answer


def test_ways_without_the_parameter_run_in_every_step_and_once_in_the_plan() -> None:
    def held(hold_ns: float) -> Plan:
        cases = way("loop/nodelay", 1_000), way(f"loop/coalesce:{hold_ns:.0f}ns", 1_000)
        return Plan(cases, 7, 1)

    sweeping = Sweeping(Sweep("hold", 1_000, 1e6, 7), held)
    result = grown_holds(sweeping)
    assert result.plan.sweep is not None
    ids = [case.case_id for case in result.plan.cases]
    assert len(ids) == len(set(ids)) == 1 + len(result.plan.sweep.points)
    reference = [run.round for run in result.runs if run.case_id == ids[0]]
    assert sorted(reference) == list(range(result.plan.rounds))
    told = summed_up(result).answer
    assert told[1].startswith("Above ")
    assert "loop/nodelay is faster than loop/coalesce" in told[1]


def grown_holds(sweeping: Sweeping) -> Result:
    """Holding up to 30 µs pays, and then costs its time."""
    runs: tuple[Run, ...] = ()
    for round in range(sweeping.most_rounds):
        if sweeping.is_over(round, runs):
            break
        for case in sweeping.order(sweeping.plan, round, runs):
            _, _, hold = case.strategy.partition(":")
            latency = 50.0 if not hold else 20.0 + int(hold.removesuffix("ns")) / 1e3
            noise = random.Random(f"{case.case_id}/{round}").lognormvariate(0, 0.02)
            runs += (paced_run(case, round, latency * noise, samples=1_100),)
    return result_of(sweeping, runs)


def test_a_sweep_of_what_no_way_has_is_refused() -> None:
    with pytest.raises(UsageError, match="--sweep hold: no way"):
        Sweeping(Sweep("hold", 1_000, 1e6, 7), lambda _: plan_at(1_000))


@pytest.mark.parametrize("command", ["stream"], indirect=True)
def test_a_sweep_is_measured_saved_and_told(command: Command) -> None:
    done = command.run(
        *("--sweep", "rate=1k..1100", "--duration", "20ms", "--rounds", 1),
        *("--only", "loop/nodelay", "--limit", "p50<10s"),
    )
    assert done.code == 0, done.stderr
    # A host that stops the sender for a moment lets it fall behind so short a schedule.
    behind = [
        any(each["code"] == "fell_behind" for each in run["warnings"])
        for run in sorted(done.runs, key=lambda run: str(run["case_id"]))
    ]
    kept = "sustains 1,000/s" if behind[1] else "sustains every rate up to 1,100/s"
    if behind[0]:
        kept = "is never seen to keep to it, and is shown not to at 1,000/s"
    assert f"With median latency below 10 s: loop/nodelay {kept}" in done.stdout
    points = [each["value"] for step in done.result["plan"]["sweep"]["steps"] for each in step]
    assert sorted(points) == [1_000, 1_100]
    assert len(done.runs) == len(points) == len(done.result["plan"]["cases"])
