"""`tinygram trust`: the same compared with itself, planted differences, a stopped receiver."""

from __future__ import annotations

import functools
import os
import sys
from itertools import groupby
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.support.command import Command, Refused
from tests.support.waiting import wait_until

from tinygram_bench import _native
from tinygram_bench.cli.commands.trust import _order
from tinygram_bench.loads.planted import PlantedSource
from tinygram_bench.model import store
from tinygram_bench.model.parameters import StreamParameters, StudySwitches
from tinygram_bench.model.result import Case, Figure, Plan, Result, Run
from tinygram_bench.report.table import Pen
from tinygram_bench.statistics.workloads.loads import Load, turns_of
from tinygram_bench.trust import freezing, text
from tinygram_bench.trust.both_ways import LONE
from tinygram_bench.trust.judging import (
    BothWays,
    Counted,
    Frozen,
    Trusted,
    judged,
    noise_floor_of,
    with_warnings,
)
from tinygram_bench.trust.plan import FROZEN, TRUST, TrustOptions, plan_trust, variant_of

OPTIONS = TrustOptions(
    duration_ns=1_000_000_000, rounds=6, seed=1, congestion_control="cubic", placement="apart"
)
ROUNDS = 6


def test_each_load_is_compared_with_itself_beside_planted_differences() -> None:
    plan = plan_trust(OPTIONS)
    names = [variant_of(case.case_id) for case in plan.cases]
    assert len(set(names)) == len(names)
    bases = {base for base, variant in names if not variant}
    assert len(bases) == 5
    for base in bases:
        assert (base, "again") in names
    in_turns = [case for case in plan.cases if variant_of(case.case_id)[1] != FROZEN]
    loads = {base: {Load.of(c) for c in in_turns if c.case_id.startswith(base)} for base in bases}
    assert all(len(each) == 1 for each in loads.values())
    assert {variant for _, variant in names} == {"", "again", "spin", "sleep", "byte", "frozen"}


def test_those_that_run_alone_are_on_both_sides_of_the_same_ones_in_slices() -> None:
    plan = plan_trust(replace(OPTIONS, is_against_lone=True))
    cases = {case.case_id: case for case in plan.cases}
    order = [variant_of(case.case_id) for case in _order(plan, 0, ())]
    assert len(order) == len(set(order)) == len(cases)
    twins = [base for base, variant in order if variant == LONE]
    assert len(twins) > 50
    for load in {turns_of(cases[base]) for base in twins}:
        of_load = [base for base in twins if turns_of(cases[base]) == load]
        found = [variant == LONE for base, variant in order if base in of_load]
        sides = [(is_lone, len(list(of))) for is_lone, of in groupby(found)]
        assert sides == [
            (True, (len(of_load) + 1) // 2),
            (False, len(of_load)),
            (True, len(of_load) // 2),
        ]


def test_a_case_without_a_difference_takes_its_messages_by_the_same_code_as_one_with() -> None:
    studies = {
        variant_of(case.case_id)[1]: case.parameters.study
        for case in plan_trust(OPTIONS).cases
        if isinstance(case.parameters, StreamParameters) and case.parameters.slice_ns is not None
    }
    assert studies.keys() == {"", "again", "spin", "sleep", "byte"}
    assert all(study.spin_ns > 0 for study in studies.values())
    assert studies[""] == studies["again"] == StudySwitches(spin_ns=1)
    assert studies["sleep"] == replace(studies[""], sleep_ns=200_000)
    assert studies["byte"] == replace(studies[""], more_bytes=1)


def result_of(plan: Plan, factors: dict[str, list[float]]) -> Result:
    """A result whose paced runs have p50s that are these factors of 10 µs, round by round."""
    runs = tuple(
        Run(
            case.case_id,
            round,
            {},
            {},
            slices=slices_of(factors[variant_of(case.case_id)[1]], round),
        )
        for round in range(plan.rounds)
        for case in plan.cases
    )
    return result_with(plan, runs)


def result_with(plan: Plan, runs: tuple[Run, ...]) -> Result:
    return Result(2, ("tinygram", "trust"), {}, plan, runs, (), ())


def slices_of(factors: list[float], round: int) -> dict[str, tuple[float | None, ...]]:
    return {"latency_p50_us": (10.0 * factors[round], 20.0 * factors[round], None)}


def paced(*variants: str) -> Plan:
    """The cases of 10,000/s that are asked for."""
    cases: tuple[Case, ...] = plan_trust(OPTIONS).cases
    chosen = [case for case in cases if case.rate_per_s == 10_000.0]
    wanted = [case for case in chosen if variant_of(case.case_id)[1] in ("", *variants)]
    return Plan(tuple(wanted), ROUNDS, 1, ())


def test_what_is_resolved_is_half_the_interval_and_what_is_planted_is_shown() -> None:
    factors = {
        "": [1.0] * ROUNDS,
        "again": [0.99, 1.0, 1.0, 1.0, 1.0, 1.01],
        "spin": [1.04, 1.05, 1.05, 1.05, 1.06, 1.07],
    }
    found = judged(result_of(paced("again", "spin"), factors))
    (alike,) = found.alike
    assert (alike.figure, alike.variant) == ("latency_p50_us", "again")
    assert alike.half_width == pytest.approx(0.01)
    assert not alike.is_shown
    (planted,) = found.planted
    assert planted.is_shown
    assert planted.ratio.median == pytest.approx(1.05)
    assert found.confidence == pytest.approx(0.96875)
    assert found.pair_s == 12


def test_the_size_of_what_was_planted_is_told_with_its_share_of_the_figure() -> None:
    factors = {name: [1.0] * ROUNDS for name in ("", "spin", "sleep")}
    found = judged(result_of(paced("spin", "sleep"), factors))
    spin, sleep = found.planted
    assert (spin.planted_ns, sleep.planted_ns) == (1_000, 200_000)
    # Without histograms the figure of all rounds together is not known.
    assert (spin.share, sleep.share) == (None, None)
    shown = text.page(
        result_of(paced("spin"), factors),
        replace(found, compared=(replace(spin, share=0.0286), sleep)),
    )
    assert "a spin of 1us before each write, 2.9 % of the figure" in shown
    assert "a sleep of 200us before 1 % of the writes |" in shown


def test_a_case_whose_figures_are_beyond_both_intervals_is_named() -> None:
    plan = plan_trust(replace(OPTIONS, is_against_lone=True))
    names = {case.case_id for case in plan.cases}
    lone = {name for name in names if variant_of(name)[1] == "lone"}
    assert {
        (case.workload, case.link, case.rate_per_s) for case in plan.cases if case.case_id in lone
    } == {
        ("stream", "loopback", 1_000.0),
        ("stream", "loopback", 10_000.0),
        ("stream", "loopback", None),
        ("stream", "rtt=1ms", 1_000.0),
        ("rr", "loopback", None),
        ("echo", "loopback", None),
    }
    # What is compared with itself takes turns with no other case for their sake.
    without = plan_trust(OPTIONS).cases
    in_both = [case for case in plan.cases if variant_of(case.case_id)[0] in {*lone_bases(lone)}]
    assert plan.cases[: len(without)] == without
    assert not {Load.of(case) for case in without} & {Load.of(case) for case in in_both}
    assert {variant_of(name)[0] for name in lone} <= names
    assert all(
        (case.parameters.slice_ns is None) == (case.case_id in lone)
        for case in plan.cases
        if variant_of(case.case_id)[1] != FROZEN
    )
    case = plan.cases[0]
    together, apart = Figure(10, 9, 11), Figure(13, 11.5, 14)
    assert BothWays(case, "latency_p50_us", together, apart).is_apart
    assert BothWays(case, "latency_p50_us", apart, together).is_apart
    assert not BothWays(case, "latency_p50_us", together, Figure(12, 11, 13)).is_apart


def lone_bases(names: set[str]) -> list[str]:
    return [variant_of(name)[0] for name in names]


def test_a_case_that_differs_alone_has_a_warning_in_the_result_and_its_name_in_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cases = plan_trust(replace(OPTIONS, is_against_lone=True)).cases
    ways = (
        "loop/stdlib/nagle/loopback/1..500B/flat-out",
        "loop/stdlib/nodelay/loopback/1..500B/fl",
    )
    chosen = tuple(case for case in cases if any(way in case.case_id for way in ways))
    assert len(chosen) == 4
    messages = {"nodelay": {"": 100_000, "lone": 100_500}, "nagle": {"": 100_000, "lone": 120_000}}
    runs = tuple(
        Run(
            case.case_id,
            round,
            {
                "messages": messages[case.strategy][variant_of(case.case_id)[1]] + 1_000 * round,
                "run_time_ns": 10**9,
            },
            {},
            slices={} if "#" in case.case_id else {"throughput_per_s": (1.0,)},
        )
        for round in range(ROUNDS)
        for case in chosen
    )
    result = with_warnings(result_with(Plan(chosen, ROUNDS, 1, ()), runs))
    warned = {
        each.case.case_id: [(warning.code, warning.figures) for warning in each.warnings]
        for each in result.summaries
        if "#" not in each.case.case_id
    }
    assert {name.split("/")[3]: found for name, found in warned.items()} == {
        "nodelay": [],
        "nagle": [("differs_alone", ("throughput_per_s",))],
    }
    assert len(result.summaries) == 4
    text.write(Pen(Console(width=200)), judged(result))
    answer = capsys.readouterr().out
    assert "1 of 2 figures are beyond both intervals: loop/nagle, stream flat out." in answer
    # Without runs alone there is nothing to say, and no summary.
    assert with_warnings(result_of(paced(), {"": [1.0] * ROUNDS})).summaries == ()


def test_messages_that_are_a_byte_longer_are_found_by_count_exactly() -> None:
    case, longer = (
        case
        for case in plan_trust(OPTIONS).cases
        if case.rate_per_s == 1_000 and variant_of(case.case_id)[1] in ("", "byte")
    )
    for more_bytes, is_right in ((30_000, True), (29_999, False), (0, False)):
        runs = tuple(
            Run(each.case_id, 0, {"messages": 30_000, "bytes": 3_000_000 + more}, {})
            for each, more in ((case, 0), (longer, more_bytes))
        )
        plan = Plan((case, longer), 1, 1, ())
        counted = judged(result_with(plan, runs)).counted
        assert counted is not None
        assert counted.is_right == is_right


def test_the_answer_is_what_is_resolved_where_there_are_rounds_enough(
    capsys: pytest.CaptureFixture[str],
) -> None:
    factors = {"": [1.0] * ROUNDS, "again": [0.99, 1.0, 1.0, 1.0, 1.0, 1.01]}
    result = result_of(paced("again"), factors)
    text.write(Pen(Console(width=200)), judged(result))
    answer = capsys.readouterr().out
    assert answer.startswith(
        "The answer\n- stream 10,000/s, loop/nodelay: median latency differences of 2.0% are found "
        "here in 12 s, which two cases share, at 96.9% confidence."
    )
    floor = noise_floor_of(replace(result, started_at="2026-11-23T10:00:00Z"), judged(result))
    assert floor is not None
    assert floor.resolved == {"stream 10,000/s": {"latency_p50_us": pytest.approx(0.01)}}
    few = replace(result, runs=tuple(run for run in result.runs if run.round < 5))
    assert noise_floor_of(replace(few, started_at="2026-11-23T10:00:00Z"), judged(few)) is None


def test_a_sender_with_a_planted_difference_computes_and_sleeps_before_it_hands_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_ns = 0
    slept_s: list[float] = []

    def clock() -> int:
        nonlocal now_ns
        now_ns += 100
        return now_ns

    planted = PlantedSource(
        _native.MessagePool(1, 9, 9),
        spin_ns=1_000,
        sleep_ns=5_000,
        warm_up=0,
        count=200,
        pacer=None,
        has_settled=lambda: True,
        on_start=lambda: None,
    )
    monkeypatch.setattr("tinygram_bench.loads.planted.time.monotonic_ns", clock)
    monkeypatch.setattr("tinygram_bench.loads.planted.time.sleep", slept_s.append)
    bursts = iter(planted.next_burst, None)
    assert [len(burst) for burst in bursts if burst is not None] == [64, 64, 64, 8]
    assert now_ns >= 200 * 1_000
    assert slept_s == [5e-6] * 2


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--duration", "10ms"), "--duration 10ms is outside 20ms … 600s"),
        (("--duration", "banana"), "--duration"),
        (("--rounds", "0"), "--rounds"),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path, refused: Refused, words: tuple[str, ...], fault: str
) -> None:
    path = tmp_path / "result.json"
    refused(("trust", *words, "--json", str(path)), (fault,))
    assert not path.exists()


def test_it_says_what_is_resolved_here_and_keeps_its_runs(command: Command) -> None:
    done = command.run("--duration", "200ms", "--rounds", "1")
    assert "cannot be said: intervals need 6 good rounds" in " ".join(done.stdout.split())
    assert "are found here" not in done.stdout
    said = "101 bytes each came, and 100 of the others: right."
    assert said in " ".join(done.stdout.split())
    assert "A receiver that was stopped for a while: p99 is " in done.stdout
    result = store.load(command.result_path)
    assert all(run.failure is None for run in result.runs)
    (frozen,) = [run for run in result.runs if variant_of(run.case_id)[1] == FROZEN]
    frozen_ns = frozen.counters["frozen_ns"]
    assert frozen_ns is not None
    assert frozen_ns >= 500_000_000
    found = judged(result)
    assert found.counted == Counted(((100,), (101,)))
    assert found.frozen is not None
    # It waits for what theory says at least, and a busy machine adds to it.
    assert found.frozen.p99_us > found.frozen.expected_us * 0.98
    assert judged(replace(result, runs=result.runs)) == found
    assert done.code == (0 if found.is_right else 1), done.stderr
    assert ("(WRONG)" in done.stderr) != found.is_right
    words = [sys.executable, "-B", "-m", "tinygram_bench", "report", str(command.result_path)]
    reported, faults = command.said_at_end(command.start_words(words))
    assert reported.strip() in done.stdout, faults


@pytest.mark.parametrize("option", ["--html", "--csv"])
def test_its_result_is_no_report_of_one_workload(
    tmp_path: Path, option: str, refused: Refused
) -> None:
    plan = plan_trust(OPTIONS)
    found = Result(2, ("tinygram", "trust"), {"study": {"name": TRUST}}, plan, (), (), ())
    store.save(found, tmp_path / "trust.json")
    said = (f"{option} is for what one workload measured, and trust is of `tinygram trust`",)
    refused(("report", str(tmp_path / "trust.json"), option, str(tmp_path / "made")), said)


def test_one_of_its_controls_that_is_wrong_makes_it_wrong() -> None:
    right, wrong = Frozen(451_000, 450_000), Frozen(470_000, 450_000)
    of = functools.partial(Trusted, (), (), confidence=0.97, pair_s=30.0)
    assert of(counted=None, frozen=None).is_right
    assert of(counted=Counted(((100,), (101,))), frozen=right).is_right
    assert not of(counted=None, frozen=wrong).is_right
    assert not of(counted=Counted(((100,), (100,))), frozen=right).is_right


@pytest.mark.parametrize("has_found", [True, False])
def test_a_receiver_that_is_not_found_fails_the_run_by_name(
    monkeypatch: pytest.MonkeyPatch, has_found: bool
) -> None:
    case = plan_trust(OPTIONS).cases[0]
    stopped: list[int] = []
    monkeypatch.setattr(freezing, "_AFTER_S", 0.0)
    monkeypatch.setattr(freezing, "_receivers", lambda: [7] if has_found else [])

    def stop(pid: int) -> int:
        stopped.append(pid)
        return 5

    monkeypatch.setattr(freezing, "_stop", stop)

    def run_case(case: Case, round: int) -> Run:
        wait_until(lambda: bool(stopped) or not has_found, 60, "it is stopped")
        return Run(case.case_id, round, {}, {})

    run = freezing.frozen(run_case, case, 0)
    assert run.counters == ({"frozen_ns": 5} if has_found else {})
    assert (run.failure is None) == has_found
    assert has_found or "CONFIG_PROC_CHILDREN" in str(run.failure)


def test_a_kernel_that_lists_no_children_has_no_receivers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 0)
    assert freezing._receivers() == []
