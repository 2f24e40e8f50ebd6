"""What a run adds up to, and what makes it fail: both sides must tell the same."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.support.experiments import result_of
from tests.support.measured.rr import found, report, run_of

from tinygram_bench.model.result import Case
from tinygram_bench.processes.workers import RunError
from tinygram_bench.workloads.rr.cases import RrOptions, plan_rr
from tinygram_bench.workloads.rr.order import Report

PLAN = plan_rr(
    RrOptions(
        runtimes=("native",),
        connections=("per-caller",),
        sends_per_request=(10,),
        callers=4,
        placement="none",
    )
)
NAGLE, NODELAY = PLAN.cases


def reports(calls: int, call_ns: int) -> list[Report]:
    return [report(calls, call_ns, callers=4), report(calls, call_ns, callers=4)]


def at_a_rate(connections: str) -> Case:
    """A case of native callers at 1,000 calls/s, for a second."""
    options = RrOptions(
        runtimes=("native",),
        connections=(connections,),
        processes=1,
        callers=4,
        placement="none",
        rates_per_s=(1_000.0,),
    )
    return plan_rr(options).cases[0]


def test_both_processes_are_added_up() -> None:
    run = run_of(NAGLE, 0, found(NAGLE, reports(400, 1_000_000)))
    assert run.counters["calls"] == 800
    assert run.counters["callers"] == 8
    assert run.counters["run_time_ns"] == 100_000_000
    assert run.warnings == ()


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({"server_requests": 823}, "the server counted 823 requests, and 825 were made"),
        ({"server_wrong_requests": 2}, "2 connections sent other bytes"),
        ({"server_short_requests": 1}, "1 connections ended in the middle of a request"),
        ({"server_failed_connections": 1}, "1 connections failed"),
        ({"server_evicted_connections": 3}, "3 connections were closed to make room"),
    ],
)
def test_what_the_server_does_not_confirm_fails_the_run(
    server: Mapping[str, int], said: str
) -> None:
    with pytest.raises(RunError, match=said):
        run_of(NAGLE, 0, found(NAGLE, reports(400, 1_000_000), server))


def test_more_time_in_calls_than_callers_have_is_a_fault_of_the_measurement() -> None:
    impossible = report(400, 1_000_000, callers=4)
    impossible.counters["callers_time_ns"] -= 1
    with pytest.raises(RunError, match="Little's law"):
        run_of(NAGLE, 0, found(NAGLE, [impossible]))


def test_no_call_at_all_is_a_failure() -> None:
    with pytest.raises(RunError, match="no call was finished"):
        run_of(NAGLE, 0, found(NAGLE, [report(0, 1, callers=4)]))


def test_callers_that_are_mostly_not_in_calls_are_a_warning() -> None:
    idle = report(400, 1_000_000, callers=4)
    idle.counters["callers_time_ns"] *= 2
    [warning] = run_of(NAGLE, 0, found(NAGLE, [idle])).warnings
    assert warning.code == "littles_law"
    assert "4 of 8 callers" in warning.message


def test_a_backlog_that_overflowed_bars_verdicts_on_connect_times() -> None:
    counted = found(NAGLE, reports(400, 1_000_000), kernel={"kernel_ListenOverflows": 7})
    [warning] = run_of(NAGLE, 0, counted).warnings
    assert (warning.code, warning.figures) == ("listen_overflows", ("connect_",))


@pytest.mark.parametrize(
    ("connections", "figures"),
    [("per-request", ("connect_", "call_", "start_delay_")), ("per-caller", ("connect_",))],
)
def test_at_a_rate_calls_that_connect_are_as_late_as_their_connections(
    connections: str, figures: tuple[str, ...]
) -> None:
    case = at_a_rate(connections)
    counted = found(case, [report(900, 1_000_000, callers=4)], kernel={"kernel_ListenOverflows": 7})
    [warning] = run_of(case, 0, counted).warnings
    assert (warning.code, warning.figures) == ("listen_overflows", figures)


@pytest.mark.parametrize(
    ("not_begun", "behind_ms", "ended_ms", "code", "barred", "left"),
    [
        # The shortest call took 1 ms.
        (0, 0, 1_100, None, (), ()),
        # The last reply came late, though all calls had begun in time.
        (0, 0, 1_102, "fell_behind", ("call_p50_us",), ()),
        (9, 11, 1_000, "fell_behind", ("call_p50_us", "start_delay_p50_us"), ("connect_p50_us",)),
        (1, 10, 1_000, "not_begun", ("call_p99_us", "call_p99_9_us", "call_max_us"), ("call_p50",)),
    ],
)
def test_calls_that_were_not_begun_or_ended_late_bar_what_they_blur(
    not_begun: int,
    behind_ms: int,
    ended_ms: int,
    code: str | None,
    barred: tuple[str, ...],
    left: tuple[str, ...],
) -> None:
    case = at_a_rate("per-caller")
    one = report(891, 1_000_000, callers=4)
    one.counters["calls_not_begun"] = not_begun
    one.counters["behind_ns"] = behind_ms * 1_000_000
    one.counters["last_ns"] = found(case, [one]).start.start_ns + ended_ms * 1_000_000
    warnings = run_of(case, 0, found(case, [one])).warnings
    assert [each.code for each in warnings] == ([] if code is None else [code])
    for warning in warnings:
        assert all(name.startswith(warning.figures) for name in barred)
        assert not any(name.startswith(warning.figures) for name in left)


@pytest.mark.parametrize(
    ("runtime", "callers", "codes"),
    [
        ("native", 2, []),
        ("threads", 1, []),
        ("threads", 2, ["interpreter"]),
        ("asyncio", 2, ["interpreter"]),
    ],
)
def test_callers_that_share_an_interpreter_have_no_verdict_on_connect_times(
    runtime: str, callers: int, codes: list[str]
) -> None:
    """A thread notes that it is connected when it has the interpreter's lock again."""
    case = plan_rr(RrOptions(runtimes=(runtime,), callers=callers)).cases[0]
    warnings = run_of(case, 0, found(case, [report(400, 1_000_000, callers=2 * callers)])).warnings
    assert [warning.code for warning in warnings] == codes
    assert all(warning.figures == ("connect_",) for warning in warnings)


@pytest.mark.parametrize(("depth", "codes"), [(1, ["waits_for_room"]), (2, []), (None, [])])
def test_callers_that_wait_for_room_on_a_shared_connection_say_so(
    depth: int | None, codes: list[str]
) -> None:
    options = RrOptions(runtimes=("native",), connections=("shared",), callers=2, depth=depth)
    case = plan_rr(options).cases[0]
    warnings = run_of(case, 0, found(case, [report(400, 1_000_000, callers=4)])).warnings
    assert [warning.code for warning in warnings] == codes


def figure(case: Case, name: str) -> float | None:
    runs = [
        run_of(case, number, found(case, reports(400, 40_000_000))) for number in range(PLAN.rounds)
    ]
    summaries = result_of(PLAN, runs).summaries
    [summary] = [each for each in summaries if each.case == case]
    known = summary.figures[name]
    return None if known is None else known.median


def test_figures_are_littles_laws_and_percentiles_need_samples() -> None:
    assert figure(NAGLE, "calls_per_s") == pytest.approx(8 / 0.040)
    assert figure(NAGLE, "calls_in_flight") == pytest.approx(8)
    assert figure(NAGLE, "call_mean_us") == pytest.approx(40_000, rel=1e-3)
    assert figure(NAGLE, "call_p50_us") == pytest.approx(40_000, rel=1e-3)
    assert figure(NAGLE, "connect_p99_us") is None  # 14 connections
    assert figure(NAGLE, "connect_max_us") == pytest.approx(20, rel=1e-3)
    assert figure(NAGLE, "delayed_acks") == 9


def test_nodelay_is_judged_against_nagle_round_by_round() -> None:
    runs = []
    for number in range(PLAN.rounds):
        runs.append(run_of(NAGLE, number, found(NAGLE, reports(400, 40_000_000 + number))))
        runs.append(run_of(NODELAY, number, found(NODELAY, reports(400, 8_000_000))))
    verdicts = {verdict.figure: verdict for verdict in result_of(PLAN, runs).verdicts}
    assert set(verdicts) == {"calls_per_s", "call_p50_us", "call_p99_us", "cpu_us_per_call"}
    rate = verdicts["calls_per_s"]
    assert (rate.baseline_case_id, rate.verdict) == (NAGLE.case_id, "faster")
    assert rate.ratio is not None
    assert rate.ratio.median == pytest.approx(5, rel=1e-3)
    assert verdicts["call_p50_us"].verdict == "faster"
