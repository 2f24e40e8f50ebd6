"""The words around the tables: the opening, the notes, and what the published comparison did."""

from __future__ import annotations

import msgspec
import pytest
from tests.support.experiments import failed, flat_out_run, plan_of, result_of, warned, way
from tests.support.printed_report import printed

from tinygram_bench.model.result import MessageBytes, Warning


def test_a_warning_of_every_case_is_one_line() -> None:
    shared = Warning("host_network", "the run shared the host's network")
    cases = [way(f"loop/{each}") for each in ("nodelay", "nagle", "cork", "more")]
    runs = [
        warned(flat_out_run(case, number, 1e5), shared) for case in cases for number in range(7)
    ]
    runs[0] = failed(runs[0])
    text = printed(result_of(plan_of(cases, runs), runs))
    assert text.count("host's network") == 1
    assert "- all ways: the run shared the host's network (in every round)" in text


def opening(rounds: list[int]) -> str:
    """The paragraph on intervals, of cases that finished so many rounds."""
    cases = [way(f"loop/{at}") for at in range(len(rounds))]
    runs = [
        flat_out_run(case, number, 1e5)
        for case, count in zip(cases, rounds, strict=True)
        for number in range(count)
    ]
    text = printed(result_of(plan_of(cases, runs), runs))
    return next(line for line in text.splitlines() if line.startswith("Figures are medians over"))


def test_the_confidence_told_is_no_more_than_the_least() -> None:
    assert "the true median with 98.4% confidence. " in opening([7, 7, 0])
    assert "the true median with 87.5% to 98.4% confidence, which is lower" in opening([7, 4])
    assert "with 0.0% to 98.4% confidence" in opening([7, 1])
    assert "no correction for many comparisons" in opening([7])


def test_a_measurement_that_was_stopped_has_no_failed_rounds() -> None:
    assert "fail" not in opening([7, 6])
    assert "which is lower where a case was not measured in the last round" in opening([7, 6])


@pytest.mark.parametrize(
    ("failures", "told"),
    [
        ([False], "Figures of a single round: nothing tells"),
        ([True], "Every run failed (1 of 1): there are no figures."),
        ([True] * 6, "Every run failed (6 of 6): there are no figures."),
        ([True] * 5 + [False], "Each figure is of a single round, for the others failed: nothing"),
    ],
)
def test_rounds_that_failed_are_not_called_a_single_round(failures: list[bool], told: str) -> None:
    case = way("loop/nodelay")
    runs = [flat_out_run(case, number, 1e5) for number in range(len(failures))]
    runs = [failed(run) if fails else run for run, fails in zip(runs, failures, strict=True)]
    text = printed(result_of(plan_of([case], runs), runs))
    assert told in text
    assert ("a single round" in text) == (sum(failures) < len(failures))


@pytest.mark.parametrize(
    ("messages", "max_bytes", "is_like"),
    [(1_000_000, 500, True), (20_000, 500, False), (1_000_000, 400, False)],
)
def test_what_the_published_comparison_did_otherwise_is_said(
    messages: int, max_bytes: int, is_like: bool
) -> None:
    one = way("loop/nodelay")
    case = msgspec.structs.replace(
        one,
        parameters=msgspec.structs.replace(one.parameters, messages=messages),
        message_bytes=MessageBytes(1, max_bytes),
    )
    text = printed(result_of(plan_of([case], []), []), published=True)
    said = "used 1,000,000 messages of 1-500 bytes, and this result did not." in text
    assert said != is_like
    assert "takes up to 64 messages at a time" in text
