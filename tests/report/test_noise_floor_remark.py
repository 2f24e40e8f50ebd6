"""A report says what this machine tells apart, if `tinygram trust` found it lately."""

from __future__ import annotations

from msgspec.structs import replace
from tests.support.experiments import flat_out, result_of

from tinygram_bench.report.surroundings import surroundings_of

FLOOR = {
    "measured_at": "2026-11-23T10:00:00+00:00",
    "boot_id": "0dd4c2f6-0000-4000-8000-000000000000",
    "confidence": 0.96875,
    "pair_s": 36.0,
    "resolved": {
        "stream flat out": {"throughput_per_s": 0.012, "cpu_s_per_million": 0.025},
        "rr": {"calls_per_s": 0.01},
    },
}


def test_the_figures_of_its_own_loads_are_told() -> None:
    result = result_of(*flat_out({"loop/nodelay": [1e5] * 7, "loop/nagle": [1e5] * 7}))
    result = replace(result, environment={**result.environment, "noise_floor": FLOOR})
    assert surroundings_of(result).remarks == (
        "Differences that this machine tells apart in 36 s a pair, as tinygram trust found at "
        "2026-11-23T10:00:00+00:00 (stream flat out): throughput 1.2% and CPU time per "
        "million messages 2.5%.",
    )


def test_nothing_is_told_where_nothing_was_found_for_its_loads() -> None:
    result = result_of(*flat_out({"loop/nodelay": [1e5] * 7, "loop/nagle": [1e5] * 7}))
    only_rr = {**FLOOR, "resolved": {"rr": {"calls_per_s": 0.01}}}
    for floor in (None, only_rr):
        told = replace(result, environment={**result.environment, "noise_floor": floor})
        assert surroundings_of(told).remarks == ()
