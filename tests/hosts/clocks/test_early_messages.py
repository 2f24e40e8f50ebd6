"""Messages that seem to have come before they were sent, because two clocks took the two times."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.cluster.in_process import runs_of
from tests.hosts.clocks.wrong_clocks import ask_over_a_way, tell_another_time
from tests.support.plans.stream import planned

from tinygram_bench import Plan, run
from tinygram_bench._native import Histogram
from tinygram_bench.model.result import Run
from tinygram_bench.report.numbers import median_of

MS_NS = 10**6
WAY_S = 0.008
"""Half of it is how wrong the clock is: far longer than a small message takes on loopback."""
BOTH = ["loop/nodelay", "loop/cork"]
LOADS: dict[str, dict[str, Any]] = {
    "paced, in slices": {"rate": [1_000], "only": BOTH},
    "paced, alone": {"rate": [1_000], "only": BOTH[:1], "lone": True},
    "paced, in reverse": {"rate": [1_000], "only": BOTH, "reverse": True},
    "paced, from producers": {
        "rate": [1_000],
        "only": ["threads/tinygram/combine"],
        "producers": [2],
    },
    "flat out, in slices": {"only": BOTH[:1]},
}
REFUSED = re.compile(
    r"notes and messages do not match: message \d+ was received (\d+) ns before it was released, "
    r"by times that may be wrong by (\d+) ns"
)


def early_within_the_bound(run: Run) -> None:
    """Some message came early, by no more than the bound; it counts as one that took no time."""
    assert run.failure is None
    early_ns, bound_ns = (run.counters[name] or 0 for name in ("early_ns", "clock_bound_ns"))
    assert 0 < early_ns <= bound_ns
    times = Histogram.from_base64(run.histograms.get("latency_ns") or run.histograms["queueing_ns"])
    assert times.min_ns == 0


@pytest.mark.parametrize("load", LOADS)
def test_within_what_the_clocks_may_be_wrong_by_it_took_no_time_which_is_told_and_not_shown(
    server: str, load: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = LOADS[load]
    # By a clock that seems to be ahead, what comes there is early: here, or there in reverse.
    way = (0.0, WAY_S) if options.get("reverse") else (WAY_S, 0.0)
    ask_over_a_way(monkeypatch, *way)
    asked = Plan.stream(**options, duration=400_000_000, rounds=1, server=server)
    result = run(asked).stored
    for each in result.runs:
        early_within_the_bound(each)
    if "rate" in options:
        for summary in result.summaries:
            assert median_of(summary, "latency_p50_us").endswith(" rtt/2")


def test_generators_of_a_cluster_tell_the_most_of_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask_over_a_way(monkeypatch, WAY_S, 0.0)
    shared = {"takes_turns": True, "clients": 2, "link": "remote", "duration_ns": 400 * MS_NS}
    for each in runs_of(planned(*BOTH, rates_per_s=[2_000.0], **shared), 2):
        assert [host.failure for host in each.hosts] == [None, None]
        early_within_the_bound(each)


@pytest.mark.parametrize("load", LOADS)
def test_by_more_than_that_the_run_fails_and_says_both(
    server: str, load: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = LOADS[load]
    planted_ns = 1_000 * MS_NS
    tell_another_time(monkeypatch, -planted_ns if options.get("reverse") else planted_ns)
    asked = Plan.stream(**options, duration=400_000_000, rounds=1, server=server)
    for each in run(asked).stored.runs:
        said = REFUSED.fullmatch(each.failure or "")
        assert said is not None, each.failure
        early_ns, bound_ns = map(int, said.groups())
        assert bound_ns < early_ns <= planted_ns
        # Only between two hosts may it be more than nothing: tests/stream/faults.
        assert bound_ns > 0


def test_on_one_host_no_message_may_be_early_and_none_is_told_to_be() -> None:
    asked = Plan.stream(only=BOTH[:1], rate=[1_000], duration=100_000_000, rounds=1)
    (alone,) = run(asked).stored.runs
    assert alone.failure is None
    assert "early_ns" not in alone.counters
