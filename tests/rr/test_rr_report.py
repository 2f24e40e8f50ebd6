"""The report of `rr`: call and connect times apart, mean and SD of calls, and what won."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from tests.support.experiments import failed, result_of
from tests.support.measured.rr import measured
from tests.support.printed_report import printed

from tinygram_bench.model.result import Result, Run
from tinygram_bench.report import answer_of
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr

OPTIONS = RrOptions(
    connections=("per-caller",), sends_per_request=(10,), callers=4, placement="none"
)


def shown(result: Result) -> str:
    return printed(result, width=200)


def row(text: str, label: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(label + " "))


def test_it_names_what_was_called_and_begins_with_the_answer() -> None:
    text = shown(measured(plan_rr(OPTIONS)))
    assert "rr: 2 x 4 callers, requests of 10,010 B, replies of 2 B" in text
    assert "10 sends" in text
    assert "server native" in text
    assert text.splitlines()[1].startswith("- nodelay is faster: ")
    assert "the calls/s of nagle" in text
    assert "98.4% confidence from 7 rounds" in text


def test_how_sure_it_is_rests_on_the_rounds_that_both_finished() -> None:
    """Eight rounds, and each lost another one: seven of each, and six pairs."""
    plan = plan_rr(msgspec.structs.replace(OPTIONS, rounds=8))
    lost = {(case.case_id, number) for number, case in enumerate(plan.cases)}
    runs = [failed(run) if (run.case_id, run.round) in lost else run for run in measured(plan).runs]
    text = shown(result_of(plan, runs))
    assert "96.9% confidence from 6 rounds" in text


def test_rows_have_calls_their_spread_and_the_kernels_counts() -> None:
    text = shown(measured(plan_rr(OPTIONS)))
    nagle = row(text, "nagle")
    assert 195 < float(nagle.split()[1]) < 201
    assert row(text, "nodelay").split()[1:4] == ["1.000k", "0", "8.00"]
    assert "overflows" in text
    assert "retransmits" in text


def test_only_what_differs_is_in_the_labels() -> None:
    plan = plan_rr(
        RrOptions(connections=("per-request", "per-caller"), sends_per_request=(1,), callers=4)
    )
    text = shown(measured(plan))
    assert row(text, "per-request, nagle")
    assert row(text, "per-caller, nodelay")
    assert "- per-caller: nodelay is faster" in text


def test_what_is_shown_to_differ_is_said_before_what_is_not() -> None:
    plan = plan_rr(
        RrOptions(connections=("per-request", "per-caller"), sends_per_request=(1,), callers=4)
    )
    slow, fast, *_ = plan.cases
    assert "per-request" in slow.case_id
    assert "per-request" in fast.case_id
    runs = measured(plan).runs
    alike = [
        msgspec.structs.replace(run, case_id=fast.case_id) for run in of_case(runs, slow.case_id)
    ]
    kept = [run for run in runs if run.case_id != fast.case_id]
    first, second = answer_of(result_of(plan, [*kept, *alike]))
    assert first.startswith("per-caller: nodelay is faster")
    assert second.startswith("per-request: nodelay is not shown to differ")


def of_case(runs: Sequence[Run], case_id: str) -> list[Run]:
    return [run for run in runs if run.case_id == case_id]


def test_a_failed_and_an_unfinished_case_say_so() -> None:
    plan = plan_rr(OPTIONS)
    failed = [Run(plan.cases[0].case_id, 0, {}, {}, failure="the callers 1 failed: refused")]
    text = shown(result_of(plan, failed))
    assert "nagle: failed in 1 of 1 rounds: the callers 1 failed: refused" in text
    assert "nodelay against nagle" in text


def with_published(options: RrOptions) -> str:
    return printed(measured(plan_rr(options)), width=200, published=True)


def test_the_published_calls_stand_beside_our_ratio_of_the_same_callers() -> None:
    options = RrOptions(connections=("per-request",), sends_per_request=(1,), placement="none")
    assert "Published calls" not in shown(measured(plan_rr(options)))
    published = with_published(options).partition("Published calls, on other machines")[2]
    assert "can come of a backlog that overflows" in published
    # 8 ms against 40.3, and 20 µs for connecting.
    assert row(published, "nodelay").split() == [
        *("nodelay", "3.884k", "283", "29.0", "20.0", "1.45", "0.20"),
    ]
    assert row(published, "nagle").split()[:5] == ["nagle", "5.060k", "75.0", "20.0", "13.0"]


def test_the_published_calls_are_not_shown_beside_other_callers() -> None:
    text = with_published(OPTIONS)
    assert "Published calls, on other machines" not in text
    assert "nothing here is like them" in text
