"""The sentence on a pair: what was counted, what it saves or costs, and what is unexplained."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.experiments import swept, way
from tests.support.plans.sizes import planned
from tests.support.small_result import RESULT

from tinygram_bench.model.result import Figure, Verdict
from tinygram_bench.report.why import reasons_of, sentence
from tinygram_bench.report.workloads.rr import rr_document
from tinygram_bench.statistics.verdicts.why.account import Account, Part
from tinygram_bench.statistics.verdicts.why.evidence import Evidence
from tinygram_bench.statistics.verdicts.why.pairs import Why
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr

NOTHING = Evidence(*[None] * 10)
BEFORE = replace(NOTHING, writes=1.0, waits=0.5, segments=1.0)
AFTER = replace(NOTHING, writes=1 / 39, waits=0.5, segments=1 / 39)


def exactly(value: float) -> Figure:
    return Figure(value, value, value)


def account(baseline_us: float, case_us: float, **parts_us: tuple[float, float]) -> Account:
    parts = {
        name: Part(before, after, exactly(after - before))
        for name, (before, after) in parts_us.items()
    }
    left = case_us - baseline_us - sum(each.difference.median for each in parts.values())
    return Account(baseline_us, case_us, exactly(case_us - baseline_us), parts, exactly(left))


def pair(**known: Any) -> Why:
    verdict = Verdict("b", "c", "throughput_per_s", exactly(2.6), "faster")
    usual: dict[str, Any] = {"cpu": None, "arrival": None, "verdicts": (verdict,)}
    evidence = {"baseline_evidence": BEFORE, "case_evidence": AFTER}
    cases = way("asyncio/nodelay"), way("asyncio/coalesce:10us")
    return Why(*cases, **(usual | evidence | known))


def call_pair(**known: Any) -> Why:
    case = plan_rr(RrOptions(connections=("per-caller",))).cases[0]
    return replace(pair(**known), baseline=case, case=case)


def test_where_there_are_several_loads_each_sentence_names_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sweep = swept(["loop/nodelay", "loop/tick"], (1_000.0, 50_000.0), 6)
    cpu = account(5.0, 1.9, writes=(3.2, 0.3), program=(1.5, 1.7), waits=(0.11, 0.1))
    whys = [replace(pair(cpu=cpu), case=case) for case in sweep.plan.cases[1::2]]
    monkeypatch.setattr("tinygram_bench.report.why.whys_of", lambda _: whys)
    told = [each.text for each in reasons_of(sweep)]
    assert [text.partition(": ")[0] for text in told] == [
        "At 1,000/s, constant",
        "At 50,000/s, constant",
    ]


def test_it_says_what_writes_save_and_what_is_unexplained() -> None:
    cpu = account(5.0, 1.9, writes=(3.2, 0.3), program=(1.5, 1.7), waits=(0.11, 0.1))
    assert sentence(pair(cpu=cpu)) == (
        "asyncio/coalesce:10us sends 2.60 × the messages of asyncio/nodelay: 39.0 times fewer "
        "writes save 2.90 of 3.10 µs of CPU time a message, the program between them costs "
        "0.20 µs, 0.39 µs (13%) unexplained."
    )


def test_the_ratio_of_latencies_of_two_clocks_comes_with_what_these_may_be_wrong_by() -> None:
    verdict = Verdict("b", "c", "latency_p50_us", exactly(0.5), "faster")
    cpu = account(5.0, 1.9, writes=(3.2, 0.3), program=(1.5, 1.7), waits=(0.11, 0.1))
    text = sentence(pair(cpu=cpu, verdicts=(verdict,), bound_us=12.31))
    assert text is not None
    head = "asyncio/coalesce:10us has 0.50 × the median latency of asyncio/nodelay"
    assert text.startswith(f"{head} (clocks ± 12.4 µs): ")
    flat_out = sentence(pair(cpu=cpu, bound_us=12.31))
    assert flat_out is not None
    assert "clocks" not in flat_out


def test_a_ratio_of_two_modes_is_told_from_its_least_to_its_greatest_round() -> None:
    modes = Verdict(
        *("b", "c", "throughput_per_s", Figure(9.5, 7.6, 11.5), "faster", "two modes", "two_modes")
    )
    text = sentence(pair(verdicts=(modes,)))
    assert text is not None
    assert text.startswith(
        "asyncio/coalesce:10us sends 7.60–11.5 × the messages of asyncio/nodelay: "
    )


def test_as_many_writes_may_make_fewer_segments() -> None:
    cpu = account(2.0, 1.0, writes=(1.5, 0.5))
    text = sentence(pair(cpu=cpu, case_evidence=replace(AFTER, writes=1.0)))
    assert text is not None
    assert "as many writes in 39.0 times fewer segments save 1.00 of 1.00 µs" in text


def test_a_hold_is_what_latency_costs() -> None:
    latency = account(50.0, 75.0, hold=(0.0, 23.0), pacer=(5.0, 5.0))
    text = sentence(pair(arrival=latency))
    assert text is not None
    assert "holding costs 23.0 of 25.0 µs of mean latency, 2.00 µs (8%) unexplained;" in text


def test_a_wait_for_an_acknowledgement_is_told_as_a_share() -> None:
    latency = account(800.0, 400.0, unsent=(400.0, 4.0))
    text = sentence(
        pair(
            arrival=latency,
            baseline_evidence=replace(BEFORE, unsent_time=0.5),
            case_evidence=replace(AFTER, unsent_time=0.01),
        )
    )
    assert text is not None
    assert "waiting for an acknowledgement before sending saves 396 of 400 µs" in text
    assert "; 1% of the time was a wait for an acknowledgement instead of 50%, " in text


def test_counts_are_evidence_where_nothing_is_shown_of_times() -> None:
    text = sentence(
        pair(
            verdicts=(),
            baseline_evidence=replace(NOTHING, unsent_samples=0.888, alone=0.99998),
            case_evidence=replace(NOTHING, unsent_samples=0.0, alone=0.03),
        )
    )
    assert text == (
        "asyncio/coalesce:10us against asyncio/nodelay, whatever their times: 0% of the samples "
        "found bytes that were not sent yet instead of 89% and 3% of the segments left with "
        "nothing unacknowledged instead of 99.998%."
    )


def test_delayed_acknowledgements_and_switches_are_told_where_they_differ() -> None:
    known: dict[str, Any] = {
        "baseline_evidence": replace(NOTHING, delayed_acks=900.0, switches=2_100.0),
        "case_evidence": replace(NOTHING, delayed_acks=0.2, switches=500.0),
    }
    text = sentence(pair(**known))
    assert text is not None
    assert text.endswith(
        ": 0.20 delayed acknowledgements a thousand messages instead of 900 and 500 context "
        "switches a thousand messages instead of 2,100."
    )
    # Nothing is shown of times, and the host has a part in switches.
    unsure = sentence(pair(verdicts=(), **known))
    assert unsure is not None
    assert "switches" not in unsure
    alike = {name: replace(each, switches=500.0) for name, each in known.items()}
    told = sentence(pair(**alike))
    assert told is not None
    assert "switches" not in told


def test_what_the_rounds_do_not_tell_from_nothing_is_said_so_and_no_more() -> None:
    small = account(2.0, 1.9, writes=(1.5, 1.47))
    assert small.explained_share < 0.9
    surely = sentence(pair(cpu=small))
    assert surely is not None
    assert surely.endswith("0.07 µs (70%) unexplained.")
    vague = replace(small, unexplained=Figure(-0.07, -0.2, 0.1))
    text = sentence(pair(cpu=vague))
    assert text is not None
    assert text.endswith("0.07 µs (70%) unexplained, which the rounds do not tell from nothing.")


def test_a_call_has_parts_of_both_ends() -> None:
    call = account(
        44_000.0, 2_000.0, rest=(41_000.0, 40.0), callers_core=(900.0, 400.0), server=(20.0, 21.0)
    )
    text = sentence(call_pair(arrival=call))
    assert text is not None
    told = "waiting for the rest of a request saves 40,960 of 42,000 µs of time per call"
    assert told in text
    assert "server" not in text


def test_parts_that_miss_the_difference_by_more_than_all_of_it_are_not_told() -> None:
    """3.63 times the difference of the parts would be "263 % unexplained"."""
    both = account(60.0, 58.0, callers=(25.0, 20.0), server=(20.0, 17.74))
    text = sentence(call_pair(arrival=both))
    assert text is not None
    assert "%" not in text
    assert (
        "2.00 µs of time per call less cannot be accounted for: the parts that were measured miss "
        "it by even more;"
    ) in text


def test_where_no_part_is_known_to_within_the_difference_nothing_is_accounted_for() -> None:
    busy = replace(account(60.0, 64.0), vague=frozenset({"callers_core", "server_core"}))
    text = sentence(call_pair(arrival=busy))
    assert text is not None
    assert (
        "4.00 µs of time per call more cannot be accounted for: its parts differ by more than that "
        "from round to round;"
    ) in text
    # CPU time of which no part is known well enough was taken apart nevertheless.
    told = sentence(pair(cpu=replace(account(5.0, 1.9), vague=frozenset({"writes"}))))
    assert told is not None
    assert "3.10 µs of CPU time a message less cannot be accounted for: its parts differ" in told


def test_callers_that_send_alike_are_named_by_what_they_differ_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tinygram_bench._native.io_uring_refusal", lambda: None)
    runtimes = ("native", "native/io_uring")
    options = RrOptions(connections=("9",), runtimes=runtimes, sends_per_request=(1,))
    baseline, case = plan_rr(options).cases
    verdict = Verdict(baseline.case_id, case.case_id, "calls_per_s", exactly(0.89), "slower")
    differs = pair(cpu=account(5.0, 1.9, writes=(3.2, 0.3)))
    text = sentence(replace(differs, baseline=baseline, case=case, verdicts=(verdict,)))
    assert text is not None
    assert text.startswith("native/io_uring/nodelay makes 0.89 × the calls of native/nodelay: ")


def test_calls_of_several_kinds_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ("per-caller", "per-request")
    plan = plan_rr(RrOptions(connections=kinds, sends_per_request=(1,)))
    differs = pair(cpu=account(5.0, 1.9, writes=(3.2, 0.3)))
    whys = [replace(differs, case=case) for case in plan.cases if case.strategy == "nagle"]
    monkeypatch.setattr("tinygram_bench.report.why.whys_of", lambda _: whys)
    document = rr_document(
        replace(RESULT, plan=plan, runs=(), summaries=(), verdicts=()), published=False
    )
    told = [each.text.partition(": ")[0] for each in document.reasons]
    assert sorted(told) == ["Per-caller", "Per-request"]


def test_writes_and_segments_are_told_where_no_cpu_time_is_accounted_for() -> None:
    told = "0.026 writes a message instead of 1.00 and 0.026 segments with data a message instead"
    assert told in str(sentence(pair()))
    assert told not in str(sentence(pair(cpu=account(5.0, 1.9, writes=(3.2, 0.3)))))


def test_cpu_time_that_was_not_taken_apart_is_told_as_a_whole() -> None:
    text = sentence(pair(cpu=account(5.0, 1.9)))
    assert text is not None
    assert "the sender takes 3.10 µs of CPU time a message less, which was not taken apart" in text


def test_the_stages_of_a_sample_are_told_of_the_median_that_the_verdict_is_on() -> None:
    baseline, case = planned(
        sizes_bytes=[100], round_trips=[1], setup_writes=[2, 1], strategies=["nodelay"]
    ).cases
    verdict = Verdict(baseline.case_id, case.case_id, "total_p50_us", exactly(0.9), "faster")
    sample = account(37.0, 35.2, setup=(4.8, 0.0), first_trip=(17.0, 19.9), connect=(15.0, 15.0))
    differs = pair(
        verdicts=(verdict,),
        arrival=sample,
        baseline_evidence=replace(NOTHING, segments=2.0),
        case_evidence=replace(NOTHING, segments=1.0),
    )
    text = sentence(replace(differs, baseline=baseline, case=case))
    assert text == (
        "nodelay with setup and data in one write has 0.900 × the median total time of nodelay "
        "with setup and data in 2 writes: the write of the setup saves 4.80 of 1.80 µs of median "
        "total time, the first round trip costs 2.90 µs, 0.10 µs (6%) unexplained; 1.00 segments "
        "with data a sample instead of 2.00."
    )


def test_what_no_part_accounts_for_is_no_reason() -> None:
    nothing: dict[str, Any] = {"baseline_evidence": NOTHING, "case_evidence": NOTHING}
    assert sentence(pair(**nothing)) is None
    assert sentence(pair(arrival=account(50.0, 75.0, hold=(0.0, 0.0)), **nothing)) is None
