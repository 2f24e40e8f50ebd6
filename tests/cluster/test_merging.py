"""Runs of several hosts as one: nothing of their values is lost, and nobody hides behind others."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.support.plans.stream import planned

from tinygram_bench._native import Histogram
from tinygram_bench.cluster.merging import FEWEST, LONGEST, MEAN, OWN, Part, merged
from tinygram_bench.model.result import Run, Warning
from tinygram_bench.schema.counters import COUNTERS

(CASE,) = planned("loop/nodelay", rates_per_s=[1_000.0], takes_turns=True, clients=2).cases


def histogram(values_ns: list[int]) -> Histogram:
    made = Histogram()
    for value_ns in values_ns:
        made.record(value_ns)
    return made


def part(host: str, values_ns: list[int], *, pacing_ns: int = 100, **found: Any) -> Part:
    errors = histogram([pacing_ns] * len(values_ns))
    run = Run(
        CASE.case_id,
        0,
        {"messages": len(values_ns), "slices": 2, "middle_ns": 10, "peer_port": 7, "cpu_ns": None},
        {"latency_ns": histogram(values_ns).to_base64(), "pacing_error_ns": errors.to_base64()},
        found.pop("warnings", ()),
        slices=found.pop("slices", {}),
    )
    return Part(host, "server", CASE, run, **{"step_error_ns": 5, "late_ns": 0, **found})


def lost(host: str, why: str) -> Part:
    return Part(host, "server", CASE, None, lost=why)


def codes(run: Run) -> dict[str, str]:
    return {each.code: each.message for each in run.warnings}


def test_a_merged_histogram_is_that_of_all_values() -> None:
    dice = random.Random(1)
    of_hosts = [[round(dice.lognormvariate(10, 2)) for _ in range(5_000)] for _ in range(5)]
    run = merged(CASE, 0, [part(str(host), values) for host, values in enumerate(of_hosts)])
    together = histogram([value for values in of_hosts for value in values])
    assert run.histograms["latency_ns"] == together.to_base64()


def test_counts_add_up_what_lasts_is_the_longest_and_the_unknown_stays_so() -> None:
    run = merged(CASE, 0, [part("a", [1_000] * 3), part("b", [1_000] * 4)])
    assert run.counters["messages"] == 7
    assert run.counters["slices"] == 2
    assert run.counters["middle_ns"] == 10
    assert run.counters["cpu_ns"] is None
    assert "peer_port" not in run.counters
    assert [row.messages for row in run.hosts] == [3, 4]


def test_every_counter_that_is_merged_otherwise_is_known() -> None:
    assert COUNTERS.keys() >= (LONGEST | FEWEST | MEAN | OWN)


def test_slices_of_rates_add_up_and_others_are_means() -> None:
    rates = [
        part("a", [1], slices={"throughput_per_s": (10.0, 20.0), "late_us": (0.0, 1.0)}),
        part("b", [1], slices={"throughput_per_s": (1.0, 2.0), "late_us": (3.0, 0.0)}),
    ]
    assert merged(CASE, 0, rates).slices == {
        "throughput_per_s": (11.0, 22.0),
        "late_us": (3.0, 1.0),
    }
    medians = [
        part(host, [1], slices={"latency_p50_us": each})
        for host, each in (("a", (1.0, None)), ("b", (3.0, 5.0)))
    ]
    assert merged(CASE, 0, medians).slices == {"latency_p50_us": (2.0, None)}


def test_a_block_of_slices_counts_beside_all_blocks_of_another_host_in_its_time() -> None:
    of_a = (1.0, 3.0, 5.0, 7.0, None, 9.0)
    parts = [
        part("a", [1], slices={"latency_p99_us": of_a}),
        part("b", [1], slices={"latency_p99_us": (20.0, 30.0, 40.0)}),
    ]
    assert merged(CASE, 0, parts).slices == {"latency_p99_us": (11.0, 18.0, None)}


def test_hosts_are_out_of_step_by_the_sum_of_the_two_worst() -> None:
    parts = [part(str(error), [1], step_error_ns=error) for error in (7, 100, 3, 20)]
    assert merged(CASE, 0, parts).counters["step_error_ns"] == 120


def test_a_host_that_does_not_know_its_step_is_told_and_no_sum_is_made_up() -> None:
    fault = "a clock of the two hosts has jumped by about 7 ms"
    parts = [part("a", [1]), part("b", [1], step_error_ns=None, step_fault=fault)]
    run = merged(CASE, 0, parts)
    assert run.counters["step_error_ns"] is None
    assert codes(run)["step_unknown"].startswith("b: ")
    assert fault in codes(run)["step_unknown"]


def test_a_run_without_a_host_is_partial_names_it_and_bars_every_figure() -> None:
    run = merged(CASE, 0, [part("a", [1_000]), lost("b", "it died")])
    assert run.failure is None
    (partial,) = [each for each in run.warnings if each.code == "partial_cluster"]
    assert "b: it died" in partial.message
    assert partial.figures == ("",)
    assert [row.failure for row in run.hosts] == [None, "it died"]
    assert run.counters["generators"] == 1


def test_a_run_without_all_hosts_has_failed_and_says_why_of_each() -> None:
    run = merged(CASE, 0, [lost("a", "it died"), lost("b", "it straggled")])
    assert run.failure == "a: it died; b: it straggled"


def test_a_generator_that_falls_behind_is_named_though_the_others_do_not() -> None:
    parts = [part(f"host{number}", [10_000] * 1_000) for number in range(9)]
    late = part("slow", [10_000] * 10, pacing_ns=9_000)
    run = merged(CASE, 0, [*parts, late])
    told = codes(run)["generator_late"]
    assert told.startswith("slow: ")
    assert "generator_late" not in codes(merged(CASE, 0, parts))


def test_a_start_that_was_told_late_is_told() -> None:
    run = merged(CASE, 0, [part("a", [1]), part("b", [1], late_ns=2_000_000)])
    assert codes(run)["late_start"].startswith("b: ")


@pytest.mark.parametrize(("having", "named"), [(1, "h0: "), (2, "every host: ")])
def test_warnings_say_whose_they_are(having: int, named: str) -> None:
    warning = Warning("strangers", "two of them", ("cpu",))
    parts = [part(f"h{n}", [1], warnings=(warning,) if n < having else ()) for n in range(2)]
    run = merged(CASE, 0, parts)
    assert codes(run)["strangers"] == f"{named}two of them"
