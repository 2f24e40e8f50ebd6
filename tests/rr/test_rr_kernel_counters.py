"""What the kernel counted while connections were made, and while calls were."""

from __future__ import annotations

import pytest

from tinygram_bench.host.probes.kernel import KERNEL_COUNTERS
from tinygram_bench.workloads.rr.cases import CONNECTIONS, RrOptions, plan_rr
from tinygram_bench.workloads.rr.run import _kernel_counters

AT_FIRST = dict.fromkeys(KERNEL_COUNTERS, 100)
WHEN_READY = dict.fromkeys(KERNEL_COUNTERS, 103)
AT_LAST = dict.fromkeys(KERNEL_COUNTERS, 110)
OF_CONNECTING = {"kernel_ListenOverflows", "kernel_TCPSynRetrans"}
CASES = {
    kind: plan_rr(RrOptions(runtimes=("native",), connections=(kind,))).cases[0]
    for kind in CONNECTIONS
}


def test_connections_that_are_made_in_the_run_are_counted_without_the_warm_up() -> None:
    counters = _kernel_counters(CASES["per-request"], AT_FIRST, WHEN_READY, AT_LAST)
    assert counters == dict.fromkeys(KERNEL_COUNTERS, 7)


@pytest.mark.parametrize("kind", ["per-caller", "shared"])
def test_connections_that_stay_are_counted_from_before_they_were_made(kind: str) -> None:
    counters = _kernel_counters(CASES[kind], AT_FIRST, WHEN_READY, AT_LAST)
    expected = {name: 10 if name in OF_CONNECTING else 7 for name in KERNEL_COUNTERS}
    assert counters == expected


@pytest.mark.parametrize("kind", CONNECTIONS)
def test_what_was_not_counted_is_not_known(kind: str) -> None:
    counters = _kernel_counters(CASES[kind], None, None, None)
    assert counters == dict.fromkeys(KERNEL_COUNTERS)
