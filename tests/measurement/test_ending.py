"""`--until` and `--max-time`: a measurement ends when it knows enough, or when its time is over.

Looking several times whether it may end costs no false verdicts.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from tests.support.command import Command
from tests.support.experiments import flat_out_run, way

from tinygram_bench.cli import main, measuring
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.measurement.ending import FixedCases
from tinygram_bench.model import store
from tinygram_bench.model.result import Case, Ending, Plan, Result, Run
from tinygram_bench.report.ending import ending_told
from tinygram_bench.runs.progress.live import Live
from tinygram_bench.runs.workload import Workload
from tinygram_bench.statistics.figures.intervals import LOOKS, confidence_of, figure_of
from tinygram_bench.statistics.verdicts.comparison import first_ratios, judge

CASE = way("loop/nodelay")
RUNS = tuple(Run(CASE.case_id, round, {}, {}) for round in range(LOOKS[-1]))
FIVE = len(LOOKS)
OTHERS = (2.0, 0.5)
"""Ratios of two rounds that only a second look, with a higher rank, is not disturbed by."""


class Clock:
    now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def ending_of(
    plan: Plan,
    ratios: Sequence[float],
    round_s: Callable[[int], float] = lambda _round: 1.0,
    first: int = 0,
) -> Ending:
    """How the plan ends with these ratios; `first` rounds were made by an earlier process."""
    clock = Clock()
    ends = FixedCases(plan, lambda _plan, runs: [ratios[: len(runs)]] if runs else [], clock)
    finished = first
    for round in range(plan.rounds):
        if ends.is_over(round, RUNS[:finished]):
            break
        if round >= first:
            clock.now_s += round_s(round)
            finished += 1
    else:
        ends.is_over(plan.rounds, RUNS[:finished])
    assert ends.ending is not None
    assert ends.ending.rounds == finished
    return ends.ending


def until(share: float, max_time_s: float | None = None) -> Plan:
    max_time_ns = None if max_time_s is None else round(max_time_s * 1e9)
    return Plan((CASE,), LOOKS[-1], 1, until_share=share, max_time_ns=max_time_ns)


def test_it_ends_at_the_first_look_after_which_all_is_narrow() -> None:
    narrow = [1.1] * LOOKS[-1]
    assert ending_of(until(0.02), narrow) == Ending(8, 1, "narrow", confidence_of(8, FIVE))
    disturbed = [*OTHERS, *narrow][: LOOKS[-1]]
    assert ending_of(until(0.02), disturbed) == Ending(12, 2, "narrow", confidence_of(12, FIVE))
    # Between two looks nobody looks.
    assert ending_of(until(0.02), [*narrow[:6], *OTHERS, *narrow[8:]]).rounds == 12


def test_it_ends_with_its_last_look_where_nothing_is_narrow() -> None:
    wide = [0.5, 2.0] * (LOOKS[-1] // 2)
    assert ending_of(until(0.02), wide) == Ending(40, 5, "rounds", confidence_of(40, FIVE))


@pytest.mark.parametrize("rounds", [7, 8, 9, 18, 26])
def test_the_end_of_the_time_is_the_next_look(rounds: int) -> None:
    wide = [0.5, 2.0] * (LOOKS[-1] // 2)
    found = ending_of(until(0.02, rounds + 0.5), wide)
    assert (found.rounds, found.cause) == (rounds, "time")
    assert found.looks == 1 + sum(look < rounds for look in LOOKS)


def test_what_is_narrow_when_the_time_ends_is_said_to_be() -> None:
    found = ending_of(until(0.02, 10.5), [*OTHERS, *[1.1] * 38])
    assert found == Ending(10, 2, "time", confidence_of(10, FIVE))
    found = ending_of(until(0.02, 16.5), [*OTHERS, *OTHERS, *[1.1] * 36])
    assert found == Ending(16, 3, "narrow", confidence_of(16, FIVE)), "rank 3 of 16"


def test_a_case_that_failed_often_has_not_rounds_enough() -> None:
    """Seven rounds cannot have an interval of 99 %."""
    plan = until(0.02)
    ends = FixedCases(plan, lambda _plan, runs: [[1.0] * len(runs), [1.0] * (len(runs) - 1)])
    assert not ends.is_over(8, RUNS[:8])
    assert ends.is_over(12, RUNS[:12])
    assert not FixedCases(plan, lambda _plan, _runs: []).is_over(8, RUNS[:8]), "nothing to compare"


def test_a_round_begins_only_where_the_longest_one_would_fit() -> None:
    plan = Plan((CASE,), 7, 1, max_time_ns=10 * 10**9)
    alike = [1.0] * 7
    assert ending_of(plan, alike) == Ending(7, 1, "rounds", confidence_of(7))
    assert ending_of(plan, alike, lambda _round: 3.0).rounds == 3
    assert ending_of(plan, alike, lambda _round: 20.0).rounds == 1, "one has to be made"
    # The third might take five seconds again.
    longest_first = ending_of(plan, alike, lambda round: 5.0 if round == 0 else 1.0)
    assert longest_first == Ending(2, 1, "time", confidence_of(2))


def test_what_goes_on_ends_as_if_it_had_not_been_interrupted() -> None:
    ratios = [*OTHERS, *[1.1] * 38]
    whole = ending_of(until(0.02), ratios)
    for first in (1, 7, 8, 11, 12):
        assert ending_of(until(0.02), ratios, first=first) == whole
    # Its time begins anew.
    plan = Plan((CASE,), 7, 1, max_time_ns=3 * 10**9)
    assert ending_of(plan, [1.0] * 7, first=2) == Ending(5, 1, "time", confidence_of(5))


def of_two_modes(dice: random.Random) -> float:
    """Fresh processes that are fast or slow by chance, and no difference between the cases."""
    return 1 + dice.choice((-1, 1)) * (0.02 + dice.gauss(0, 0.002))


def normal(dice: random.Random) -> float:
    return dice.gauss(1, 0.02)


def is_shown(ratios: Sequence[float], looks: int) -> bool:
    return judge(figure_of(ratios, looks), "throughput_per_s") != "no_difference_shown"


def naive_rounds(ratios: Sequence[float], share: float) -> int:
    """When it would end if each look had an interval of 95 %."""
    narrow = (each for each in LOOKS if figure_of(ratios[:each]).half_width <= share)
    return next(narrow, LOOKS[-1])


@pytest.mark.parametrize(("ratio", "share"), [(of_two_modes, 0.015), (normal, 0.015)])
def test_of_cases_that_do_not_differ_one_in_twenty_is_judged_at_most(
    ratio: Callable[[random.Random], float], share: float
) -> None:
    """Looking until intervals are narrow picks those that are narrow by chance."""
    dice, trials = random.Random(24), 2_000
    false = naive = at_any_look = naive_at_any_look = 0
    rounds = []
    for _ in range(trials):
        ratios = [ratio(dice) for _ in range(LOOKS[-1])]
        ended = ending_of(until(share), ratios).rounds
        rounds.append(ended)
        false += is_shown(ratios[:ended], FIVE)
        at_any_look += any(is_shown(ratios[:look], FIVE) for look in LOOKS)
        naive += is_shown(ratios[: naive_rounds(ratios, share)], 1)
        naive_at_any_look += any(is_shown(ratios[:look], 1) for look in LOOKS)
    assert set(rounds) == set(LOOKS), "it ends at every look"
    # Whoever ends it when he likes what he sees is paid for, too.
    assert false <= at_any_look <= 0.05 * trials
    assert naive_at_any_look > 0.05 * trials
    if ratio is of_two_modes:
        assert naive > 0.05 * trials


Measured = Callable[..., tuple[object, Result]]


@pytest.fixture
def measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Measured:
    """Runs the command on cases whose ratio in each round is given; its status and its result."""

    def run(
        *words: str,
        ratios: Sequence[float] = (),
        interrupted_at: int | None = None,
        round_s: float = 0.0,
    ) -> tuple[object, Result]:
        def run_cases(cases: Sequence[Case], round: int) -> list[Run]:
            time.sleep(round_s * len(cases) / 2)
            if round == interrupted_at:
                os.kill(os.getpid(), signal.SIGINT)
            fast = ratios[round] if round < len(ratios) else 1.1
            return [
                flat_out_run(case, round, 1e6 * (fast if case.strategy == "nagle" else 1))
                for case in cases
            ]

        @contextmanager
        def bench(_workload: Workload, **_: object) -> Iterator[SimpleNamespace]:
            yield SimpleNamespace(run_cases=run_cases, check=lambda _plan: None, live=Live())

        path = tmp_path / "a.json"
        monkeypatch.setattr(measuring, "running", bench)
        place = () if "--resume" in words else (*TWO_WAYS, "--json", str(path))
        monkeypatch.setattr(sys, "argv", ["tinygram", "stream", *words, *place])
        with pytest.raises(SystemExit) as exited:
            main()
        result = store.load(path)
        assert all(sentence[:40] in capsys.readouterr().out for sentence in result.answer[-1:])
        return exited.value.code, result

    return run


TWO_WAYS = ("--only", "loop/nodelay", "--only", "loop/nagle")


def test_the_command_ends_when_it_knows_enough_and_says_so(measured: Measured) -> None:
    code, result = measured("--until", "2%", ratios=OTHERS)
    assert code == ExitCode.OK
    assert (result.plan.until_share, result.plan.rounds) == (0.02, LOOKS[-1])
    assert result.ending == Ending(12, 2, "narrow", confidence_of(12, FIVE))
    assert len(result.runs) == 2 * 12
    assert {each.confidence for each in result.summaries} == {confidence_of(12, FIVE)}
    winner, ended = result.answer
    assert "nagle won" in winner
    assert "at 95.4% confidence from 12 rounds" in winner
    assert ended == (
        "Ended after 12 rounds (look 2 of 5): every comparison of throughput is known to within "
        "2%, at 95.4% confidence."
    )


def test_a_comparison_with_two_modes_is_not_said_to_be_known(measured: Measured) -> None:
    _, result = measured("--until", "2%", ratios=OTHERS)
    modes = [replace(each, doubt="two_modes") for each in result.verdicts]
    (told,) = ending_told(replace(result, verdicts=tuple(modes)))
    assert "every comparison of throughput, but for those with two modes, is known to " in told
    assert result.ending is not None
    late = replace(result, ending=replace(result.ending, cause="rounds"), verdicts=tuple(modes))
    (told,) = ending_told(late)
    assert told.startswith("Ended after 12 rounds (look 2 of 5): all comparisons have two modes")


def test_the_command_has_40_rounds_at_most_and_says_what_it_knows(measured: Measured) -> None:
    code, result = measured("--until", "2%", ratios=[0.5, 2.0] * 20)
    assert code == ExitCode.OK
    assert result.ending == Ending(40, 5, "rounds", confidence_of(40, FIVE))
    assert result.answer[-1] == (
        "Ended after 40 rounds (look 5 of 5): comparisons of throughput are known to within 60%, "
        "and 2% was asked for, at 95.4% confidence."
    )


def test_the_command_ends_when_its_time_is_over_and_says_so(
    measured: Measured, tmp_path: Path
) -> None:
    code, result = measured("--max-time", "1s", round_s=0.3)
    assert code == ExitCode.OK
    assert result.plan.rounds == 7
    assert result.ending is not None
    assert result.ending.cause == "time"
    assert 1 <= result.ending.rounds <= 3
    assert result.answer[-1] == (
        f"Ended after {result.ending.rounds} of 7 rounds, as another would not have fitted into "
        "--max-time 1s: verdicts need 6 rounds."
    )
    again, kept = measured("--resume", str(tmp_path / "a.json"))
    assert (again, kept) == (ExitCode.OK, result), "it is finished"


def test_a_measurement_that_has_time_for_all_rounds_ends_as_usual(measured: Measured) -> None:
    code, result = measured("--max-time", "1h")
    assert code == ExitCode.OK
    assert result.ending == Ending(7, 1, "rounds", confidence_of(7))
    assert len(result.answer) == 1
    usual, plain = measured()
    assert (usual, plain.ending) == (ExitCode.OK, None)
    assert plain.answer == result.answer


@pytest.mark.parametrize("interrupted_at", [3, 8, 10])
def test_an_interrupted_measurement_goes_on_until_it_knows_enough(
    measured: Measured, tmp_path: Path, interrupted_at: int
) -> None:
    code, left = measured("--until", "2%", ratios=OTHERS, interrupted_at=interrupted_at)
    assert (code, left.ending) == (ExitCode.INTERRUPTED, None)
    assert len(left.runs) == 2 * interrupted_at
    code, result = measured("--resume", str(tmp_path / "a.json"), ratios=OTHERS)
    assert code == ExitCode.OK
    assert result.ending == Ending(12, 2, "narrow", confidence_of(12, FIVE))
    again, kept = measured("--resume", str(tmp_path / "a.json"))
    assert (again, kept) == (ExitCode.OK, result), "it is finished"


SHORT = {
    "stream": (*TWO_WAYS, "--duration", "150ms", "--size", 100),
    "rr": (
        *("--runtime", "native", "--connections", "per-caller", "--sends-per-request", 1),
        *("--callers", "1x1", "--duration", "150ms"),
    ),
    "echo": (
        *("--only", "asyncio/protocol", "--only", "asyncio/buffered-protocol"),
        *("--size", 100, "--workers", 1, "--duration", "150ms"),
    ),
}


@pytest.mark.parametrize("command", SHORT, indirect=True)
def test_cases_in_short_slices_end_by_what_they_show(
    command: Command, request: pytest.FixtureRequest
) -> None:
    words = SHORT[request.node.callspec.params["command"]]
    done = command.run(*words, "--until", "50%", "--max-time", "6s")
    assert done.code == ExitCode.OK, done.stderr
    result = store.load(command.result_path)
    ending = result.ending
    assert ending is not None
    assert all(case.parameters.slice_ns for case in result.plan.cases)
    assert {run.round for run in result.runs} == set(range(ending.rounds))
    # The interval of a verdict is wider where the cycles of a round are of two kinds.
    widths = [
        figure_of(ratios, FIVE).half_width
        for ratios in first_ratios(result.plan, result.summaries, result.runs)
    ]
    assert widths
    assert (ending.cause == "narrow") == (ending.rounds >= 8 and max(widths) <= 0.5)
    assert result.answer[-1].startswith(f"Ended after {ending.rounds} round")
    assert f"- Ended after {ending.rounds} round" in done.stdout
    other = command.start_words(command.words("--resume", command.result_path, "--until", "40%"))
    assert "--until: " in command.said_at_end(other)[1], "it is resumed with the same options"
    assert other.returncode == ExitCode.USAGE
