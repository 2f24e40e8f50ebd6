"""Sweeps whose runs have as much in them as measured ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

from msgspec.structs import replace
from tests.support.experiments import histogram, result_of, swept

from tinygram_bench.model.result import Result, Run

_RATES = (1_000.0, 2_800.0, 8_000.0, 22_000.0, 63_000.0, 178_000.0, 500_000.0)
_MESSAGES = 4_000
_OF_SLICES = (
    *("latency_p50_us", "latency_max_us", "cpu_s_per_million", "late_us"),
    *("pacing_error_p50_us", "pacing_error_max_us"),
)


@cache
def filled_sweep(ways: int = 15, points: int = 7, rounds: int = 3, slices: int = 18) -> Result:
    """A sweep as large as that of the default ways, unless another size is asked for."""
    random = Random(1)
    drawn = swept([f"loop/coalesce:{n + 1}us" for n in range(ways)], _RATES[:points], rounds)
    return result_of(drawn.plan, [_filled(run, random, slices) for run in drawn.runs])


def _filled(run: Run, random: Random, slices: int) -> Run:
    return replace(
        run,
        histograms={
            "latency_ns": histogram(_times_ns(random, 36_000)),
            "pacing_error_ns": histogram(_times_ns(random, 1_100)),
        },
        slices={
            figure: tuple(random.lognormvariate(3, 1) for _ in range(slices))
            for figure in _OF_SLICES
        },
    )


def _times_ns(random: Random, usual_ns: float) -> Iterator[int]:
    """The rarer, the longer: one in a thousand takes sixteen times as long as the shortest."""
    for _ in range(_MESSAGES):
        yield round(usual_ns * (1 - random.random()) ** -0.4)
