"""The words on `sizes`: the model, whether it holds and where not; nothing that is not known."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.experiments import failed, histogram, result_of
from tests.support.measured.sizes import measured
from tests.support.plans.sizes import planned
from tests.support.printed_report import answer_in, printed

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, Plan, Run
from tinygram_bench.report.workloads.sizes import sizes_document
from tinygram_bench.statistics.figures.words import in_words
from tinygram_bench.statistics.sizes_model import Model

TRUTH = Model(setup_us=50.0, latency_us=20.0, us_per_byte=1 / 4_000)
ALL_SIZES = [10**power for power in range(7)]


def factored(factor: Callable[[Case, int], float]) -> Callable[[Case, int], float]:
    """The time that the model has, times a factor."""

    def time_us(case: Case, round: int) -> float:
        trips = SizesParameters.of(case).round_trips
        assert isinstance(trips, int)
        return TRUTH.time_us(case.message_bytes.max, trips) * factor(case, round)

    return time_us


def answer(plan: Plan, factor: Callable[[Case, int], float]) -> str:
    return answer_in(printed(measured(plan, factored(factor))))


def is_cell(case: Case, size_bytes: int, trips: int) -> bool:
    return (case.message_bytes.max, SizesParameters.of(case).round_trips) == (size_bytes, trips)


def test_a_model_that_holds_is_told_with_its_parameters() -> None:
    said = answer(planned(sizes_bytes=ALL_SIZES), lambda _case, _round: 1.0)
    assert "time = 50.0 us + trips x (20.0 us + bytes / " in said
    assert "half of the bandwidth is reached at " in said
    assert "at 98.4% confidence from 7 rounds." in said
    assert "the model holds: all 21 cells are within 10 % of it" in said


def test_a_cell_that_is_off_is_named_with_how_far() -> None:
    plan = planned(sizes_bytes=ALL_SIZES)
    said = answer(plan, lambda case, _: 1.5 if is_cell(case, 1_000, 1) else 1.0)
    assert "the model does not hold: 1 of 21 cells are not within 10 % of it: 1 kB x 1 took" in said
    assert "% longer (+33." in said


@pytest.mark.parametrize(
    ("rounds", "said"), [(1, "1 round has every cell"), (5, "5 rounds have every cell")]
)
def test_fewer_than_six_rounds_tell_nothing_of_the_model(rounds: int, said: str) -> None:
    """Every cell of a single round may be off by its noise alone, or on by luck."""
    plan = planned(sizes_bytes=ALL_SIZES, rounds=rounds)
    right = answer(plan, lambda _case, _round: 1.0)
    wrong = answer(plan, lambda case, _: 1.5 if is_cell(case, 1_000, 1) else 1.0)
    for told in (right, wrong):
        assert f"whether the model holds cannot be said: {said}, and 6 are needed" in told
        assert "does not hold" not in told
        assert "cells are within" not in told


def test_a_cell_that_may_be_off_is_no_failure_of_the_model_yet() -> None:
    plan = planned(sizes_bytes=ALL_SIZES)
    wild = [1.0, 1.3, 1.0, 1.3, 1.0, 1.3, 1.0]
    said = answer(plan, lambda case, round: wild[round] if is_cell(case, 100, 2) else 1.0)
    assert "the model is not shown to fail, but of 1 of 21 cells it cannot be said" in said


def test_a_single_round_is_sure_of_nothing() -> None:
    said = answer(planned(rounds=1), lambda _case, _round: 1.0)
    assert "a single round: nothing tells how sure" in said


def test_where_there_can_be_no_model_the_remedy_is_told() -> None:
    said = answer(planned(round_trips=[1]), lambda _case, _round: 1.0)
    assert "no model: it takes two counts of --round-trips, two --sizes" in said


def test_where_larger_ones_took_no_longer_there_is_no_bandwidth_and_the_rest_is_told() -> None:
    """In one round of seven: a busy host may do that to the smallest."""
    shrinking = Model(setup_us=50.0, latency_us=200.0, us_per_byte=-1 / 10_000)

    def time_us(case: Case, round: int) -> float:
        trips = SizesParameters.of(case).round_trips
        assert isinstance(trips, int)
        model = shrinking if round == 3 else TRUTH
        return model.time_us(case.message_bytes.max, trips)

    plan = planned(sizes_bytes=ALL_SIZES)
    text = printed(measured(plan, time_us))
    said = answer_in(text)
    assert "time = 50.0 us + trips x (20.0 us): no bandwidth" in said
    assert "no bandwidth, since larger ones did not take longer in every round" in said
    assert "or the host too noisy, at 98.4% confidence from 7 rounds." in said
    assert "half of the bandwidth" not in said
    assert "the model " in said


def test_predictions_have_intervals_and_say_when_they_go_beyond() -> None:
    plan = planned(predicted_bytes=[400_000, 40_000_000])
    text = printed(measured(plan, factored(lambda _case, _round: 1.0)))
    rows = [line for line in text.splitlines() if line.startswith("400 kB x ")]
    assert [row.split()[-2] for row in rows] == ["170", "290"]
    assert "beyond what was measured: 40 MB" in text


def test_ways_are_set_against_the_one_that_was_named_first() -> None:
    plan = planned(setup_writes=[2, 1])
    said = answer(plan, lambda case, _: 0.5 if SizesParameters.of(case).setup_writes == 1 else 1.0)
    assert (
        "nodelay, setup and first data in one write, over loopback, against nodelay, setup and "
        "first data in 2 writes, over loopback: faster in 6 of 6 cells" in said
    )


def test_each_cell_that_differs_says_why() -> None:
    """Setup and data in one write: half of the time, and half of the segments."""
    plan = planned(setup_writes=[2, 1], round_trips=[1])

    def run(case: Case, number: int) -> Run:
        is_joined = SizesParameters.of(case).setup_writes == 1
        stages_us = {"connect": 10, "first_trip": 10, "transfer": 10}
        stages_us |= {"total": 20} if is_joined else {"setup": 20, "total": 40}
        histograms = {f"{name}_ns": histogram([us * 1_000] * 100) for name, us in stages_us.items()}
        segments = 100 if is_joined else 200
        counted: dict[str, int | None] = {"samples": 100, "data_segments": segments}
        return Run(case.case_id, number, counted, histograms)

    runs = [run(case, number) for number in range(plan.rounds) for case in plan.cases]
    told = [each.text for each in sizes_document(result_of(plan, runs), published=False).reasons]
    assert [text.partition(": ")[0] for text in told] == ["1 B × 1", "1 kB × 1", "1 MB × 1"]
    assert ": the write of the setup saves 20.0 of 20.0 µs of median total time, " in told[0]
    assert told[0].endswith("unexplained; 1.00 segments with data a sample instead of 2.00.")


def test_too_few_rounds_to_compare_are_said() -> None:
    plan = planned(setup_writes=[2, 1], rounds=3)
    said = answer(plan, lambda _case, _round: 1.0)
    assert "it cannot be said of 6 of 6 cells: 3 rounds have both, and 6 are needed" in said


def test_two_modes_are_told_of_the_total_alone() -> None:
    wild = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0]
    plan = planned()
    text = printed(measured(plan, factored(lambda _case, round: wild[round])))
    assert "two modes in median total time" in text
    assert f"two modes in {in_words('total_mb_per_s')}" not in text


def header_of(plan: Plan) -> str:
    text = printed(measured(plan, factored(lambda _case, _round: 1.0)))
    return text.partition("Time of a sample (us)")[2].partition("1 B x 0")[0]


def test_a_sample_after_those_of_other_cases_is_not_called_the_very_first() -> None:
    alone, together = header_of(planned()), header_of(planned(takes_turns=True))
    assert "very" in alone
    assert "case's" not in alone
    assert "case's" in together
    assert "very" not in together


def test_failures_and_absences_are_notes() -> None:
    plan = planned()
    result = measured(plan, factored(lambda _case, _round: 1.0))
    runs = [failed(result.runs[0], "sample 3, connect: refused"), *result.runs[1:]]
    text = printed(result_of(plan, runs))
    assert "- 1 B x 0: failed: sample 3, connect: refused" in text


def test_every_run_failed() -> None:
    plan = planned()
    result = measured(plan, factored(lambda _case, _round: 1.0))
    text = printed(result_of(plan, [failed(run) for run in result.runs]))
    assert "no model" in text
