"""Results that were measured between hosts: other far hosts, and what their clocks hide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.compared import BASE, compared_result
from tests.support.experiments import paced, result_of

from tinygram_bench.cli.comparing import checked_comparison
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Result
from tinygram_bench.statistics.changes.change import Change
from tinygram_bench.statistics.changes.comparable import hindrances, other_differences
from tinygram_bench.statistics.changes.comparison import compare_results

RATES = {way: [1e5] * 8 for way in ("nodelay", "nagle")}
FAR = {"kernel": "6.1.0", "cpu_model": "Some CPU", "python": "CPython 3.12.1", "sysctls": {"a": 1}}
SERVER, GENERATOR = (
    {"host": f"192.0.2.{number}", "name": name, "role": role, **FAR}
    for number, name, role in ((1, "alder", "server"), (2, "birch", "generator"))
)


def elsewhere(hosts: Mapping[str, Any], *command: str) -> Result:
    """A result whose environment has other hosts."""
    environment = BASE.environment | dict(hosts)
    return compared_result(RATES, environment=environment, command=("tinygram", "stream", *command))


def between(server: str = "192.0.2.7", **facts: Any) -> Result:
    return elsewhere({"far": FAR | facts}, "--server", server, "--rounds", "8")


def in_cluster(*hosts: Mapping[str, Any]) -> Result:
    return elsewhere({"cluster": hosts}, "--cluster", "auto")


def told(before: Result, after: Result) -> list[str]:
    return [str(each) for each in hindrances(before, after)]


@pytest.mark.parametrize(
    ("name", "value", "difference"),
    [
        ("kernel", "6.2.0", "far host's kernel: 6.1.0 before, 6.2.0 after"),
        ("cpu_model", "Other CPU", "far host's CPU: Some CPU before, Other CPU after"),
        ("sysctls", {"a": 2}, "far host's kernel settings, a: 1 before, 2 after"),
    ],
)
def test_what_differs_of_the_far_host_hinders_and_is_said_to_be_its(
    name: str, value: Any, difference: str
) -> None:
    assert told(between(), between()) == []
    assert told(between(), between(**{name: value})) == [difference]


def test_another_far_host_is_another_host_and_another_port_is_not() -> None:
    other = ["far host: 192.0.2.7 before, 192.0.2.8 after"]
    assert told(between(), between("192.0.2.8")) == other
    assert told(between(), between("192.0.2.7:7000")) == []
    assert told(between(), elsewhere({"far": FAR}, "--server=192.0.2.7")) == []
    assert told(between("2001:db8::7"), between("[2001:db8::7]:7000")) == []
    assert told(between("2001:db8::7"), between("[2001:db8::7]")) == []
    assert told(between("2001:db8::7"), between("2001:db8::8")) != []


def test_a_result_with_another_far_host_is_refused_unless_asked_for() -> None:
    def compared(*, is_anyway: bool) -> int:
        other = between(kernel="6.2.0")
        found = checked_comparison("before", between(), "after", other, "both", is_anyway=is_anyway)
        return found.common

    with pytest.raises(UsageError, match=r"far host's kernel: 6\.1\.0 before, 6\.2\.0 after"):
        compared(is_anyway=False)
    assert compared(is_anyway=True) == 2


def test_programs_of_the_far_host_are_told_one_by_one_and_hinder_nothing() -> None:
    newer = between(python="CPython 3.13.0")
    assert told(between(), newer) == []
    assert [str(each) for each in other_differences(between(), newer)] == [
        "far host's python: CPython 3.12.1 before, CPython 3.13.0 after"
    ]


def test_hosts_of_a_cluster_are_compared_whatever_their_order_is() -> None:
    before = in_cluster(SERVER, GENERATOR)
    assert told(before, in_cluster(GENERATOR, SERVER)) == []
    assert told(before, in_cluster(SERVER, GENERATOR | {"kernel": "6.2.0"})) == [
        "generator birch (192.0.2.2)'s kernel: 6.1.0 before, 6.2.0 after"
    ]
    other = SERVER | {"host": "192.0.2.3", "name": "cedar"}
    assert told(before, in_cluster(other, GENERATOR)) == [
        "servers of the cluster: alder (192.0.2.1) before, cedar (192.0.2.3) after"
    ]


def timed(
    nodelay_us: float, bound_us: float | None, cork_us: float = 100.0, *, in_turns: bool = True
) -> Result:
    """Two ways, which took turns or were alone; `bound_us` None: one clock timed them."""
    plan, runs = paced({"loop/nodelay": [nodelay_us] * 8, "loop/cork": [cork_us] * 8})
    clocks = {} if bound_us is None else {"clock_bound_ns": round(bound_us * 1_000)}
    slices = {"latency_p50_us": (100.0,)} if in_turns else {}
    return result_of(
        plan, [replace(run, counters=run.counters | clocks, slices=slices) for run in runs]
    )


def change(after_us: float, bound_us: float | None) -> Change:
    """The change of the median latency of `nodelay`, which was 100 µs before."""
    return nodelay_in(timed(100.0, bound_us), timed(after_us, bound_us))


def nodelay_in(before: Result, after: Result) -> Change:
    """The change of the median latency of `nodelay`."""
    comparison = compare_results(before, after, "times")
    (found,) = (
        each
        for each in comparison.changes
        if (each.case.strategy, each.figure) == ("nodelay", "latency_p50_us")
    )
    return found


@pytest.mark.parametrize(
    ("after_us", "bound_us", "shown"),
    [
        (120.0, None, "worse"),
        (120.0, 9.0, "worse"),
        (120.0, 11.0, "cannot_say"),
        (80.0, 9.0, "better"),
        (80.0, 11.0, "cannot_say"),
    ],
)
def test_a_change_of_less_than_both_clocks_may_be_wrong_by_cannot_be_said(
    after_us: float, bound_us: float | None, shown: str
) -> None:
    found = change(after_us, bound_us)
    assert found.shown == shown
    assert (found.reason is None) == (shown != "cannot_say")
    if found.reason is not None:
        assert "may be wrong by 11.0 µs before and 11.0 µs after" in found.reason


@pytest.mark.parametrize(("bound_us", "passed"), [(1.0, "passes"), (5.0, "cannot_say")])
def test_a_gate_lets_pass_only_what_the_clocks_do_not_hide(bound_us: float, passed: str) -> None:
    found = change(100.0, bound_us)
    assert (found.shown, found.passed(0.05)) == ("not_shown", passed)


def test_a_bound_of_more_than_the_latency_leaves_the_interval_open() -> None:
    before, after = (timed(each, 110.0, cork_us=1_000.0) for each in (100.0, 1_000.0))
    found = nodelay_in(before, after)
    assert found.ratio is not None
    assert found.ratio.high == float("inf")
    assert found.shown == "worse"


def test_an_error_that_all_have_in_common_is_a_change_beside_shorter_latencies() -> None:
    """On a host that is 5 % slower, clocks that are wrong by 1 µs show 104 and 9.5 for 105 and
    10.5: beside the others nothing has changed.
    """
    found = nodelay_in(timed(100.0, 1.0, cork_us=10.0), timed(104.0, 1.0, cork_us=9.5))
    assert found.ratio is not None
    assert found.ratio.low < 1 < found.ratio.high
    assert found.shown == "cannot_say"
    sure = nodelay_in(timed(100.0, 0.01, cork_us=10.0), timed(104.0, 0.01, cork_us=9.5))
    assert sure.shown == "worse"


def test_errors_of_cases_that_ran_alone_are_none_that_they_have_in_common() -> None:
    for in_turns, shown in ((True, "worse"), (False, "cannot_say")):
        before, after = (timed(each, 6.0, in_turns=in_turns) for each in (100.0, 120.0))
        assert nodelay_in(before, after).shown == shown


@pytest.mark.parametrize("when", ["before", "after"])
def test_rounds_that_count_as_0_are_not_left_out(when: str) -> None:
    """The fastest two of eight rounds: the others are as fast as those of the other result."""
    plan, runs = paced({"loop/nodelay": [0.0, 0.0] + [100.0] * 6, "loop/cork": [100.0] * 8})
    clocks = {"clock_bound_ns": 1_000, "early_ns": 500}
    early = result_of(plan, [replace(run, counters=run.counters | clocks) for run in runs])
    late = timed(100.0, 1.0, in_turns=False)
    found = nodelay_in(*((early, late) if when == "before" else (late, early)))
    assert (found.shown, found.ratio) == ("cannot_say", None)
    assert found.reason is not None
    assert found.reason.startswith(f"{when} 2 of 8 rounds count as 0, which has no ratio")
    zeros = found.before if when == "before" else found.after
    assert zeros is not None
    assert (zeros.median, zeros.low) == (0, 0)


def test_nothing_is_compared_beside_rounds_that_count_as_0() -> None:
    found = nodelay_in(
        *(
            result_of(*paced({"loop/nodelay": [us] * 8, "loop/cork": [0.0, 0.0] + [100.0] * 6}))
            for us in (100.0, 120.0)
        )
    )
    assert found.shown == "cannot_say"
    assert found.reason is not None
    assert "no other case of its load is known" in found.reason


def test_nothing_is_compared_beside_latencies_that_the_clocks_do_not_know() -> None:
    before, after = (timed(each, 1.0, cork_us=4.0) for each in (100.0, 120.0))
    found = nodelay_in(before, after)
    assert found.shown == "cannot_say"
    assert found.reason is not None
    assert "no other case of its load is known" in found.reason
