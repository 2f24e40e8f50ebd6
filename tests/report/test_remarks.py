"""Remarks: what this machine tells apart, if `trust` found it lately, and what ran alone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.support.experiments import flat_out, result_of

from tinygram_bench.model.result import Result
from tinygram_bench.report.surroundings import surroundings_of

FLOOR = {
    "measured_at": "2026-11-23T10:00:00+00:00",
    "confidence": 0.96875,
    "pair_s": 36.0,
    "resolved": {
        "stream flat out": {"throughput_per_s": 0.012, "cpu_s_per_million": 0.025},
        "rr": {"calls_per_s": 0.01},
    },
}
ALONE = ("tinygram", "stream", "--lone")


@pytest.mark.parametrize(
    ("started_at", "when"),
    [
        ("2026-11-23T10:01:10Z", ", 1 minute before"),
        ("2026-11-23T11:29:00Z", ", 89 minutes before"),
        ("2026-11-23T12:10:00Z", ", 2 hours before"),
        (None, ""),
    ],
)
def test_the_figures_of_its_own_loads_are_told(started_at: str | None, when: str) -> None:
    result = result_of(*flat_out({"loop/nodelay": [1e5] * 7, "loop/nagle": [1e5] * 7}))
    environment = {**result.environment, "noise_floor": FLOOR}
    result = replace(result, environment=environment, started_at=started_at, command=ALONE)
    assert surroundings_of(result).remarks == (
        "Between two cases that are the same, this machine knew throughput to ±1.2% and "
        "CPU time per million messages to ±2.5% "
        "(stream flat out, over loopback with the messages of tinygram trust, 36 s a "
        f"pair{when}).",
    )


def test_nothing_is_told_where_nothing_was_found_for_its_loads() -> None:
    result = result_of(*flat_out({"loop/nodelay": [1e5] * 7, "loop/nagle": [1e5] * 7}))
    only_rr = {**FLOOR, "resolved": {"rr": {"calls_per_s": 0.01}}}
    for floor in (None, only_rr):
        environment = {**result.environment, "noise_floor": floor}
        told = replace(result, environment=environment, command=ALONE)
        assert surroundings_of(told).remarks == ()


TWO = {"loop/nodelay": [1e5] * 7, "loop/nagle": [1e5] * 7}


def test_a_load_whose_cases_ran_alone_is_told_with_the_remedy() -> None:
    (remark,) = surroundings_of(result_of(*flat_out(TWO))).remarks
    assert remark.startswith("Cases of these loads ran one after the other, and not in slices: ")
    assert "stream flat out" in remark
    assert remark.endswith("a longer --duration lets the cases take turns.")


@pytest.mark.parametrize("option", ["--lone", "--messages=1000", "--probe", "--sweep"])
def test_nothing_is_told_where_an_option_asked_for_it(option: str) -> None:
    result = replace(result_of(*flat_out(TWO)), command=("tinygram", "stream", option))
    assert surroundings_of(result).remarks == ()


def test_nothing_is_told_of_a_case_without_others_nor_of_cases_in_slices() -> None:
    sole = result_of(*flat_out({"loop/nodelay": [1e5] * 7}))
    assert surroundings_of(sole).remarks == ()
    result = result_of(*flat_out(TWO))
    in_slices = tuple(
        replace(case, parameters=replace(case.parameters, slice_ns=20_000_000))
        for case in result.plan.cases
    )
    sliced = replace(result, plan=replace(result.plan, cases=in_slices))
    assert surroundings_of(sliced).remarks == ()


def sliced_result(slice_ms: float, *lasted_ms: float) -> Result:
    """A result whose runs of a case had slices that lasted so long."""
    ways = {"loop/nodelay": [1e5] * len(lasted_ms)}
    result = result_of(*flat_out(ways))
    (case,) = result.plan.cases
    case = replace(case, parameters=replace(case.parameters, slice_ns=round(slice_ms * 1e6)))
    runs = (
        replace(run, counters={**run.counters, "slice_lasted_ns": round(ms * 1e6)})
        for run, ms in zip(result.runs, lasted_ms, strict=True)
    )
    return replace(result, plan=replace(result.plan, cases=(case,)), runs=tuple(runs))


def test_slices_that_were_longer_than_planned_are_told_with_the_reason() -> None:
    (remark,) = surroundings_of(sliced_result(20, 20, 176.04, 1_200)).remarks
    assert remark.startswith(
        "In 2 of 3 runs slices lasted 176 to 1200 ms, longer than the 20 ms planned. "
        "Messages or calls took so long before the start"
    )


def test_slices_as_long_as_planned_are_not_told() -> None:
    assert surroundings_of(sliced_result(20, 20, 20)).remarks == ()
