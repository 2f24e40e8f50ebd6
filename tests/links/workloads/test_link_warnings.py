"""What a reader is told of a link: late, slow, or losing what it was not asked to lose."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.links.workloads.facts import facts
from tests.support.experiments import paced, paced_run, plan_of, result_of, warned, way
from tests.support.measured.sizes import measured
from tests.support.plans import sizes as sizes_plans
from tests.support.plans.stream import planned

from tinygram_bench._native import Histogram
from tinygram_bench.links.link import Link
from tinygram_bench.links.traffic import Traffic
from tinygram_bench.model.result import Run
from tinygram_bench.report.surroundings import link_tables
from tinygram_bench.statistics.link_warnings import (
    LINK_FAULTS,
    late_limit_ns,
    late_percentile,
    warnings_of,
)
from tinygram_bench.statistics.links import links_of
from tinygram_bench.workloads.stream import warnings as stream_warnings


def lateness(*counted: tuple[int, int]) -> Histogram:
    """(ns, packets) …"""
    histogram = Histogram()
    for late_ns, packets in counted:
        for _ in range(packets):
            histogram.record(late_ns)
    return histogram


def codes(found: tuple[Any, ...]) -> list[str]:
    return [warning.code for warning in found]


def test_a_link_in_time_has_nothing_to_tell() -> None:
    late = lateness((5_000, 995), (900_000, 5))
    assert warnings_of(facts(), {"near_to_far_packets": 1_000}, late) == ()


def test_a_link_with_more_than_one_packet_in_a_hundred_late_bars_every_figure() -> None:
    [warning] = warnings_of(facts(), {}, lateness((5_000, 980), (150_000, 20)))
    assert warning.code == "link_late"
    assert "more than 1 % of its packets" in warning.message
    assert all("latency_p50_us".startswith(prefix) for prefix in warning.figures)
    assert warning.figures


def test_ten_packets_at_least_make_it_late() -> None:
    assert late_percentile(10) is None
    assert late_percentile(1_000) == 99.0
    assert late_percentile(100) == 90.0
    assert codes(warnings_of(facts(), {}, lateness((5_000, 91), (150_000, 9)))) == []
    assert codes(warnings_of(facts(), {}, lateness((5_000, 85), (150_000, 15)))) == ["link_late"]


def test_a_long_link_may_be_later() -> None:
    assert late_limit_ns(facts()) == 100_000
    assert late_limit_ns(facts(rtt_ns=40_000_000)) == 2_000_000


def test_a_link_that_stays_slow_after_calibrating_bars_every_figure() -> None:
    [warning] = warnings_of(facts(left_rtt_ns=1_080_000), {}, None)
    assert warning.code == "link_slow"
    assert "longer than was asked" in warning.message
    assert warning.figures


def test_a_link_that_is_too_fast_after_calibrating_bars_every_figure() -> None:
    """Where the host was busy meanwhile, too much is taken off: every latency is too short."""
    assert warnings_of(facts(left_rtt_ns=951_000), {}, None) == ()
    [warning] = warnings_of(facts(left_rtt_ns=949_000), {}, None)
    assert warning.code == "link_fast"
    assert "less than was asked" in warning.message
    assert warning.figures


@pytest.mark.parametrize("late_rounds", [0, 3, 4])
def test_a_link_that_was_late_in_half_of_the_rounds_leaves_no_verdict(late_rounds: int) -> None:
    plan, runs = paced({"loop/nodelay": [40] * 7, "loop/cork": [30] * 7})
    late = warnings_of(facts(), {}, lateness((5_000, 980), (150_000, 20)))
    case_id = plan.cases[0].case_id
    result = result_of(
        plan,
        [
            warned(run, *late) if run.case_id == case_id and run.round < late_rounds else run
            for run in runs
        ],
    )
    assert {each.figure for each in result.verdicts} >= {"latency_p50_us", "cpu_s_per_million"}
    reasons = {each.reason for each in result.verdicts}
    if late_rounds < 4:
        assert reasons == {None}
    else:
        assert {each.verdict for each in result.verdicts} == {"cannot_say"}
        assert all("the link was late" in str(reason) for reason in reasons)


def test_the_table_of_links_counts_the_runs_that_were_not_as_asked() -> None:
    plan, runs = paced({"loop/nodelay": [40] * 3})
    late = warnings_of(facts(), {}, lateness((150_000, 20)))
    counters = {"link_near_to_far_packets": 30, "link_far_to_near_packets": 10}
    over = [
        msgspec.structs.replace(
            run,
            link=facts(),
            warnings=late if run.round == 1 else (),
            counters=run.counters | counters | {"link_relay_cpu_ns": 400_000},
        )
        for run in runs
    ]
    [link] = links_of(result_of(plan, over))
    assert (link.amiss_runs, link.runs, link.cpu_us_per_packet) == (1, 3, 10.0)
    [table] = link_tables(result_of(plan, over))
    assert "1 of 3" in table.rows[0].cells


def test_the_counts_of_a_link_that_cases_shared_are_counted_once() -> None:
    plan = sizes_plans.planned(sizes_bytes=[1, 2], round_trips=[0], rounds=3, takes_turns=True)
    counters = {"link_near_to_far_lost": 5, "link_near_to_far_packets": 40}
    result = result_of(plan, measured(plan, lambda _case, _round: 100.0).runs)
    over = [
        msgspec.structs.replace(run, link=facts(), counters=run.counters | counters)
        for run in result.runs
    ]
    [link] = links_of(result_of(plan, over))
    assert (link.runs, link.lost_packets) == (3, 15)
    alone = sizes_plans.planned(sizes_bytes=[1, 2], round_trips=[0], rounds=3)
    [link] = links_of(result_of(alone, over))
    assert (link.runs, link.lost_packets) == (6, 30)


@pytest.mark.parametrize(
    ("stopped_ms", "watched_ms", "is_told"),
    [
        (0, 1_000, False),
        (9, 1_000, False),
        (11, 1_000, True),
        (99, 60_000, False),
        (100, 60_000, True),
    ],
)
def test_a_relay_that_stood_still_for_long_bars_every_figure(
    stopped_ms: int, watched_ms: int, is_told: bool
) -> None:
    """Few packets tell of it, for TCP holds the messages back meanwhile: none was late here."""
    times_ms = {"relay_stopped_ns": stopped_ms, "relay_watched_ns": watched_ms}
    counters = {name: 1_000_000 * ms for name, ms in times_ms.items()}
    found = warnings_of(facts(), counters, lateness((5_000, 1_000)))
    assert codes(found) == ["link_stopped"] * is_told
    assert all(warning.figures == ("",) for warning in found)


@pytest.mark.parametrize(
    ("stopped", "told"),
    [(1, []), (2, ["slices_link_stopped"]), (50, ["slices_link_stopped"]), (51, ["link_stopped"])],
)
def test_of_a_case_that_takes_turns_only_its_own_slices_are_judged(
    stopped: int, told: list[str]
) -> None:
    counters = {"relay_stopped_ns": 1 << 40, "relay_watched_ns": 1 << 40}
    stood_still_us = [20_000.0] * stopped + [0.0] * (100 - stopped)
    found = warnings_of(facts(), counters, lateness((5_000, 1_000)), stood_still_us)
    assert codes(found) == told
    assert [bool(each.figures) for each in found] == [code == "link_stopped" for code in told]


def test_stops_count_in_the_slices_that_they_lie_in() -> None:
    traffic = Traffic(stood_still_ns=[(5_000, 12_000), (29_000, 31_000), (90_000, 95_000)])
    link = Link(facts=facts(), take_traffic=lambda: traffic)
    run = link.added_to(Run("it", 0, {}, {}), [(0, 10_000), (20_000, 40_000), (50_000, 60_000)])
    assert run.slices == {"link_stood_still_us": (5.0, 2.0, 0.0)}
    assert link.added_to(Run("it", 0, {}, {})).slices == {}


def test_what_bars_is_what_the_table_counts() -> None:
    late = lateness((150_000, 20))
    counters = {"near_to_far_full": 1, "relay_stopped_ns": 1 << 40}
    told = [warnings_of(facts(left_rtt_ns=ns), counters, late) for ns in (1, 1 << 40)]
    barring = {each.code for found in told for each in found if each.figures}
    assert barring == set(LINK_FAULTS)


def test_what_is_over_one_link_is_not_compared_with_what_is_over_another() -> None:
    cases = [
        msgspec.structs.replace(way(text, 1_000), link=link, case_id=f"{text} {link}")
        for text in ("loop/nodelay", "loop/cork")
        for link in ("wifi", "lan-1g")
    ]
    runs = [paced_run(case, number, 40) for case in cases for number in range(7)]
    verdicts = result_of(plan_of(cases, runs), runs).verdicts
    assert len(verdicts) >= 2
    for each in verdicts:
        assert each.baseline_case_id.split(" ")[1] == each.case_id.split(" ")[1]


def test_a_link_that_nobody_calibrates_is_slow_as_it_is_found() -> None:
    netem = {"backend": "netem", "left_rtt_ns": None, "excess_ns": None}
    assert codes(warnings_of(facts(found_rtt_ns=1_080_000, **netem), {}, None)) == ["link_slow"]
    assert codes(warnings_of(facts(found_rtt_ns=1_040_000, **netem), {}, None)) == []


@pytest.mark.parametrize("name", ["overflow", "refused", "missed"])
def test_each_packet_that_the_relay_did_not_carry_is_told(name: str) -> None:
    assert codes(warnings_of(facts(), {f"far_to_near_{name}": 1}, None)) == ["link_dropped"]


def test_a_plain_pair_is_never_slow() -> None:
    plain = facts(rtt_ns=None, asked_rtt_ns=None, left_rtt_ns=None, excess_ns=None)
    assert warnings_of(plain, {"device_dropped": 0}, None) == ()


def test_what_was_lost_unasked_is_told_and_a_full_queue_apart() -> None:
    counters = {
        "near_to_far_lost": 5,
        "near_to_far_full": 3,
        "far_to_near_overflow": 2,
        "near_to_far_refused": 1,
        "device_dropped": 4,
    }
    found = warnings_of(facts(queue_bytes=256_000), counters, None)
    assert codes(found) == ["link_dropped", "link_queue_full"]


def test_two_runs_say_the_same_so_that_a_report_says_it_once() -> None:
    counters = {"near_to_far_full": 3, "device_dropped": 4}
    one = warnings_of(facts(left_rtt_ns=1_080_000), counters, lateness((150_000, 20)))
    more = {name: 2 * count for name, count in counters.items()}
    other = warnings_of(facts(left_rtt_ns=1_090_000), more, lateness((160_000, 30)))
    assert codes(one) == ["link_late", "link_slow", "link_dropped", "link_queue_full"]
    assert one == other


def test_a_stream_falls_behind_by_what_the_link_does_not_explain() -> None:
    plan = planned("runtime=loop", link="wan", rates_per_s=[1_000.0], duration_ns=2_000_000_000)
    case = plan.cases[0]

    def found(late_ns: int) -> list[str]:
        counters: dict[str, int | None] = {"writes": 1, "retransmits": 0}
        counters |= {"last_due_ns": 2_000_000_000, "run_time_ns": 2_000_000_000 + late_ns}
        return codes(stream_warnings.warnings_of(case, counters, has_private_network=True))

    # 40 ms there and back, 0.5 of jitter: a way, an acknowledgement's before that; 1 % of 2 s.
    assert found(80_900_000) == []
    assert found(81_100_000) == ["fell_behind"]
