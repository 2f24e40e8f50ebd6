"""Why cases of `sizes` differ: the stages of a sample are its parts."""

from __future__ import annotations

import pytest
from tests.support.experiments import (
    arrival_spent,
    histogram,
)
from tests.support.plans.sizes import planned

from tinygram_bench.model.result import Case, Run
from tinygram_bench.statistics.figures.spent import Spent
from tinygram_bench.statistics.verdicts.why.evidence import evidence_of
from tinygram_bench.statistics.verdicts.why.pairs import why
from tinygram_bench.statistics.workloads.sizes import TIME, cpu_spent

ROUNDS = 7


def sizes_case(*, round_trips: int, setup_writes: int) -> Case:
    (case,) = planned(
        sizes_bytes=[100], round_trips=[round_trips], setup_writes=[setup_writes]
    ).cases
    return case


def sample_run(number: int, totals_us: tuple[float | None, ...] = (), **medians_us: int) -> Run:
    histograms = {f"{stage}_ns": histogram([us * 1_000] * 100) for stage, us in medians_us.items()}
    slices = {TIME: totals_us} if totals_us else {}
    return Run("", number, {}, histograms, slices=slices)


def test_the_stages_of_a_sample_are_its_parts() -> None:
    run = sample_run(0, connect=15, setup=5, first_trip=20, transfer=100, total=120)
    found = arrival_spent(sizes_case(round_trips=5, setup_writes=2), run)
    assert found is not None
    assert found.total_us == pytest.approx(120, rel=0.01)
    assert found.parts_us == {
        name: pytest.approx(us, rel=0.02)
        for name, us in {"connect": 15, "setup": 5, "first_trip": 20, "next_trips": 80}.items()
    }
    assert arrival_spent(sizes_case(round_trips=5, setup_writes=2), Run("", 0, {}, {})) is None


def test_the_second_of_two_round_trips_is_told_as_it_was_measured() -> None:
    """Medians do not add up: where first trips vary much, their median is not what is in others."""
    run = sample_run(0, connect=15, setup=5, first_trip=20, next_trip=22, transfer=60, total=80)
    found = arrival_spent(sizes_case(round_trips=2, setup_writes=2), run)
    assert found is not None
    assert found.parts_us["next_trips"] == pytest.approx(22, rel=0.01)


def test_a_setup_that_leaves_with_the_first_data_takes_no_time_of_its_own() -> None:
    run = sample_run(0, connect=15, first_trip=22, transfer=22, total=37)
    found = arrival_spent(sizes_case(round_trips=1, setup_writes=1), run)
    assert found is not None
    assert found.parts_us["setup"] == 0
    assert found.parts_us.keys() == {"connect", "setup", "first_trip"}


def test_samples_that_alternate_are_compared_cycle_by_cycle() -> None:
    """The host slows down from cycle to cycle, and more than the cases differ."""
    slow, fast = (sizes_case(round_trips=1, setup_writes=writes) for writes in (2, 1))
    stages = {"connect": 15, "first_trip": 20, "transfer": 20}
    totals_us = (40.0, 80.0, 160.0)
    found = why(
        slow,
        fast,
        [sample_run(at, totals_us, **stages, setup=4, total=80) for at in range(ROUNDS)],
        [
            sample_run(at, tuple(us - 3 for us in totals_us), **stages, total=80)
            for at in range(ROUNDS)
        ],
    )
    assert found.arrival is not None
    assert found.arrival.difference.median == pytest.approx(-3)
    assert found.arrival.parts["setup"].difference.median == pytest.approx(-4, rel=0.02)
    assert found.arrival.unexplained.median == pytest.approx(1, abs=0.1)


def test_a_cycle_that_one_of_two_cases_lacks_is_left_out_of_both() -> None:
    slow, fast = (sizes_case(round_trips=1, setup_writes=writes) for writes in (2, 1))
    stages = {"connect": 15, "first_trip": 20, "transfer": 20, "total": 80}
    found = why(
        slow,
        fast,
        [sample_run(at, (None, 80.0, 160.0, 320.0), **stages, setup=4) for at in range(ROUNDS)],
        [sample_run(at, (37.0, 77.0, None, 317.0), **stages) for at in range(ROUNDS)],
    )
    assert found.arrival is not None
    assert found.arrival.difference.median == pytest.approx(-3)


def test_where_no_cycle_has_both_cases_the_medians_are_compared() -> None:
    slow, fast = (sizes_case(round_trips=1, setup_writes=writes) for writes in (2, 1))
    stages = {"connect": 15, "first_trip": 20, "transfer": 20}
    found = why(
        slow,
        fast,
        [sample_run(at, (None, 80.0), **stages, setup=4, total=80) for at in range(ROUNDS)],
        [sample_run(at, (37.0, None), **stages, total=60) for at in range(ROUNDS)],
    )
    assert found.arrival is not None
    assert found.arrival.difference.median == pytest.approx(-20, rel=0.02)


def test_the_cpu_time_of_a_sample_is_of_both_ends_where_the_server_counted_its_own() -> None:
    case = sizes_case(round_trips=1, setup_writes=2)
    client = {"samples": 100, "cpu_ns": 3_000_000}
    assert cpu_spent(case, Run("", 0, {**client}, {})) == Spent(30.0, {})
    server = {"server_connections": 111, "server_cpu_ns": 111 * 20_000}
    found = cpu_spent(case, Run("", 0, {**client, **server}, {}))
    assert found == Spent(50.0, {"client": 30.0, "server": 20.0})


def test_delayed_acknowledgements_of_samples_are_those_of_all_connections() -> None:
    counters = {"samples": 100, "server_connections": 111, "kernel_DelayedACKs": 222}
    runs = [Run("", 0, {**counters, "data_segments": 300}, {})]
    found = evidence_of(sizes_case(round_trips=1, setup_writes=2), runs)
    assert (found.delayed_acks, found.segments) == (2_000, 3.0)


def test_what_a_link_counts_of_all_cases_is_evidence_of_none() -> None:
    shares = {"link_near_to_far_data_packets": 200, "link_near_to_far_data_alone": 50}
    runs = [Run("", 0, {"samples": 100, "data_segments": 300, **shares}, {})]
    together, *_ = planned(sizes_bytes=[100], round_trips=[1, 2], takes_turns=True).cases
    found = evidence_of(together, runs)
    assert (found.segments, found.alone) == (3.0, None)
    assert evidence_of(sizes_case(round_trips=1, setup_writes=2), runs).alone == 0.25
