"""A report says what this machine tells apart, if `tinygram trust` found it lately."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.support.experiments import flat_out, result_of

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
    result = replace(result, environment=environment, started_at=started_at)
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
        told = replace(result, environment={**result.environment, "noise_floor": floor})
        assert surroundings_of(told).remarks == ()
