"""What is held back leaves when its time ends, though nothing follows that could push it out.

Two messages are due a second apart and each is held 20 ms. The first one leaves alone and before
the second is due, though a busy host may be late with it. The last one leaves as soon as the stream
ends, so that it alone may be earlier.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.stream.command import Command, Done

from tinygram._native import Histogram
from tinygram.bench import runtimes

HOLD_NS = 20_000_000
GAP_NS = 1_000_000_000
EARLY_NS = {"timer": 1_000_000}
"""An event loop's own timer may be early: uvloop counts milliseconds from its last wake-up."""
HOLDING = ("coalesce", "timer")
WAYS = [
    (f"{runtime.name}/{runtime.implementation}", strategy.name)
    for runtime, strategy in runtimes.all_ways()
    if strategy.name in HOLDING
]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    command = Command(tmp_path_factory.mktemp("held"))
    only = [f"strategy={name}:20ms" for name in HOLDING]
    names = dict.fromkeys(runtime.partition("/")[0] for runtime, _ in WAYS)
    only += [f"runtime={name}" for name in names]
    # The whole warm-up, 32 KiB, is one batch: only its hold's end lets it go.
    yield command.run(
        *("--rate", 1, "--duration", "2s", "--size", 32, "--rounds", 1, "--only", ",".join(only))
    )
    command.end()


def run_of(done: Done, runtime: str, strategy: str) -> Any:
    [run] = [run for run in done.runs if f"/{runtime}/{strategy}:20ms/" in run["case_id"]]
    assert run["failure"] is None
    return run


def shortest_ns(strategy: str) -> float:
    # A histogram tells the upper end of its steps. Latencies have three digits; the library's holds
    # have one, so that up to 6 % too early would not be seen in them.
    return HOLD_NS * 0.999 - EARLY_NS.get(strategy, 0)


def values_ns(histogram: Histogram) -> list[int]:
    """The few values of a histogram, in order."""
    count = histogram.count
    return [histogram.percentile_ns(100 * (rank + 0.5) / count) for rank in range(count)]


def test_every_way_that_holds_was_measured(held: Done) -> None:
    assert held.code == 0
    assert len(held.runs) == len(WAYS) == 11


@pytest.mark.parametrize(("runtime", "strategy"), WAYS)
def test_a_message_that_nothing_follows_arrives_when_its_hold_ends(
    held: Done, runtime: str, strategy: str
) -> None:
    run = run_of(held, runtime, strategy)
    shorter_ns, longer_ns = values_ns(Histogram.from_base64(run["histograms"]["latency_ns"]))
    assert shortest_ns(strategy) <= longer_ns < GAP_NS
    assert shorter_ns < GAP_NS
    assert run["counters"]["writes"] == 2


@pytest.mark.parametrize(("runtime", "strategy"), WAYS)
def test_no_batch_but_the_last_leaves_before_its_hold_ends(
    held: Done, runtime: str, strategy: str
) -> None:
    run = run_of(held, runtime, strategy)
    _, *others_ns = values_ns(Histogram.from_base64(run["histograms"]["hold_ns"]))
    # The child of `processes` counts its warm-up's batches too.
    assert len(others_ns) == 1 if runtime != "processes/stdlib" else len(others_ns) > 1
    for value_ns in others_ns:
        assert shortest_ns(strategy) <= value_ns < GAP_NS
