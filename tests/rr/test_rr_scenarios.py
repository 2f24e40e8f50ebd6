"""The named scenarios: listed, refused by name, run with their own options, judged by ranges."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.command import Command
from tests.support.experiments import result_of
from tests.support.measured.rr import found, report, run_of

from tinygram_bench._native import Histogram
from tinygram_bench.cli import main
from tinygram_bench.model.errors import UsageError
from tinygram_bench.statistics.verdicts.expectations import Expected, findings
from tinygram_bench.workloads.rr.cases import RrOptions
from tinygram_bench.workloads.rr.scenarios import SCENARIOS, listing, plan_scenario

LEAST_STALL_NS = 36_000_000
"""The kernel delays an ACK by 40 ms, less up to a tick of its timers, 4 ms at 250 Hz."""
NAMES = ["delayed-ack-stall", "quick-ack", "one-write", "backlog-overflow", "server-side"]


def test_the_five_are_there_and_listed_with_what_is_expected() -> None:
    assert list(SCENARIOS) == NAMES
    for name in NAMES:
        assert f"{name}: " in listing()
    assert "call_p50_us of nagle: expected 40,000 … 60,000" in listing()


@pytest.mark.parametrize("name", NAMES)
def test_a_variant_is_one_case_and_every_expectation_is_of_a_variant(name: str) -> None:
    plan, case_ids = plan_scenario(name, RrOptions(rounds=3))
    assert [case.case_id for case in plan.cases] == list(case_ids.values())
    assert len(set(case_ids.values())) == len(SCENARIOS[name].variants)
    for expected in SCENARIOS[name].expected:
        assert expected.of in case_ids
        assert expected.over is None or expected.over in case_ids


def test_an_unknown_one_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="'stall': the known ones are delayed-ack-stall, quick"):
        plan_scenario("stall", RrOptions())


@pytest.mark.parametrize(
    ("nagle_ns", "nodelay_ns", "as_expected"),
    [
        (43_000_000, 8_000_000, [True, True]),
        (20_000_000, 2_000_000, [False, True]),
        (43_000_000, 43_000_000, [True, False]),
    ],
)
def test_figures_are_held_against_their_ranges(
    nagle_ns: int, nodelay_ns: int, as_expected: list[bool]
) -> None:
    plan, case_ids = plan_scenario("delayed-ack-stall", RrOptions(callers=4, rounds=3))
    call_ns = {"nagle": nagle_ns, "nodelay": nodelay_ns}
    runs = [
        run_of(case, number, found(case, [report(800, call_ns[case.strategy], callers=8)]))
        for number in range(3)
        for case in plan.cases
    ]
    judged = findings(SCENARIOS["delayed-ack-stall"].expected, case_ids, result_of(plan, runs))
    assert [finding.is_as_expected for finding in judged] == as_expected
    for finding in judged:
        assert finding.is_known
        assert ("OUT OF RANGE" in finding.text) != finding.is_as_expected


def test_ratios_are_formed_round_by_round() -> None:
    """Calls that become slower from round to round, of both alike, are no difference."""
    plan, case_ids = plan_scenario("one-write", RrOptions(callers=4, rounds=3))
    runs = [
        run_of(case, number, found(case, [report(800, call_ns, callers=8)]))
        for number, call_ns in ((0, 1_000_000), (1, 4_000_000), (2, 2_000_000))
        for case in plan.cases
        if (number, case.strategy) not in ((0, "nagle"), (2, "nodelay"))
    ]
    [finding] = findings(SCENARIOS["one-write"].expected, case_ids, result_of(plan, runs))
    assert finding.value == pytest.approx(1, rel=1e-3)


def test_what_is_not_known_is_neither_as_expected_nor_out_of_range() -> None:
    plan, case_ids = plan_scenario("one-write", RrOptions(rounds=3))
    [finding] = findings(SCENARIOS["one-write"].expected, case_ids, result_of(plan, []))
    assert not finding.is_known
    assert not finding.is_as_expected
    assert "not known here" in finding.text
    assert "OUT OF RANGE" not in finding.text


def test_the_stall_is_made_and_what_was_found_of_it_decides(command: Command) -> None:
    """How long it takes is the host's: one that stops may be out of the range, and says so."""
    done = command.run(
        *("--scenario", "delayed-ack-stall", "--rounds", 1, "--callers", "1x8"),
        *("--duration", "1s"),
    )
    assert len(done.runs) == 2
    out = done.stderr.count("OUT OF RANGE")
    assert done.stdout.count("as expected") + out == 2
    assert done.code == (1 if out else 0), done.stderr
    strategies = {case["case_id"]: case["strategy"] for case in done.result["plan"]["cases"]}
    runs = {strategies[run["case_id"]]: run for run in done.runs}
    assert set(runs) == {"nagle", "nodelay"}
    call_ns = {
        name: Histogram.from_base64(run["histograms"]["call_ns"]) for name, run in runs.items()
    }
    # A host that stops makes calls longer, never shorter, and not each of them.
    assert call_ns["nagle"].percentile_ns(50) >= LEAST_STALL_NS
    assert call_ns["nodelay"].min_ns < LEAST_STALL_NS
    if done.result["environment"]["network"] != "host":
        # What a call waits for: but for a connection's first ones, its ACKs are delayed.
        counters = runs["nagle"]["counters"]
        assert counters["kernel_DelayedACKs"] >= counters["calls"] / 2


@pytest.mark.parametrize(
    ("figure", "span", "code", "said"),
    [
        ("calls_per_s", (-2, -1), 1, "calls_per_s of nodelay: .*, OUT OF RANGE"),
        ("no_such_figure", (0, 1), 4, "no_such_figure of nodelay: not known here"),
    ],
)
def test_a_figure_out_of_its_range_is_exit_1_and_one_that_is_not_known_4(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    figure: str,
    span: tuple[float, float],
    code: int,
    said: str,
) -> None:
    """Seen from inside, with a range that no machine can be in."""
    scenario = SCENARIOS["one-write"]
    changed = replace(scenario, expected=(Expected(figure, "nodelay", *span),))
    monkeypatch.setitem(SCENARIOS, "one-write", changed)
    arguments = ("--scenario", "one-write", "--rounds", "1", "--callers", "1x2", "--quiet")
    path = str(command.folder / "result.json")
    monkeypatch.setattr(
        sys, "argv", ["tinygram", "rr", *arguments, "--duration", "200ms", "--json", path]
    )
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.search(f"scenario one-write: {said}", captured.err)
    assert Path(path).exists()
