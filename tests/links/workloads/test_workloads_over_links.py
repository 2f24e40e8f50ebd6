"""Every workload over two links at once: each run has its own, and no verdict mixes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.command import Command, Done

pytestmark = pytest.mark.usefixtures("links_permitted")

LINKS = ("--link", "rtt=5ms", "--link", "lan-100m")
WORKLOADS: dict[str, tuple[object, ...]] = {
    "rr": (
        *("--runtime", "native", "--connections", "per-caller", "--sends-per-request", 1),
        *("--callers", "1x2", "--calls", 20, "--strategy", "nagle", "--strategy", "nodelay"),
    ),
    "echo": (
        *("--size", 1_000, "--workers", 2, "--messages", 100),
        *("--only", "runtime=asyncio,implementation=stdlib"),
    ),
    "sizes": (
        *("--sizes", "100", "--round-trips", "1", "--samples", 100, "--local"),
        *("--strategy", "nodelay", "--strategy", "nagle"),
    ),
}
SHORTEST = {"rr": "call_min_us", "echo": "round_trip_min_us", "sizes": "total_min_us"}


@pytest.fixture
def over_two(tmp_path: Path) -> Iterator[Callable[[str], Done]]:
    """Run a workload over both links, probed; nothing of it may be left."""
    commands = []

    def run(workload: str) -> Done:
        commands.append(Command(tmp_path, workload))
        return commands[-1].run(*WORKLOADS[workload], "--rounds", 1, *LINKS, "--probe", "5ms")

    yield run
    for command in commands:
        command.end()


@pytest.mark.parametrize("workload", WORKLOADS)
def test_each_run_is_over_the_link_of_its_case_and_no_faster(
    over_two: Callable[[str], Done], workload: str
) -> None:
    done = over_two(workload)
    assert done.code == 0, done.stderr
    cases = {case["case_id"]: case for case in done.result["plan"]["cases"]}
    assert len(cases) == len(done.result["plan"]["cases"]), "no two have the same name"
    assert {case["link"] for case in cases.values()} >= {"rtt=5ms", "lan-100m"}
    meanings = {"rtt=5ms": "rtt=5ms", "lan-100m": "rtt=300us,bandwidth=100mbit"}
    for index, run in enumerate(done.runs):
        counters, case = done.counters_of(index), cases[run["case_id"]]
        if case["parameters"].get("part") is not None:
            # What one host does takes no link.
            assert (case["link"], run["link"]) == ("loopback", None)
            assert "link_backend" not in case["parameters"]
            continue
        assert run["link"]["meaning"] == meanings[case["link"]]
        assert counters["link_near_to_far_packets"] >= 20
        assert counters["link_far_to_near_packets"] >= 20
        columns = run["samples"]["columns"]
        assert "client_connections" in columns
        assert all(name == "at_ns" or name.startswith("client_") for name in columns)
    for verdict in done.result["verdicts"]:
        assert cases[verdict["baseline_case_id"]]["link"] == cases[verdict["case_id"]]["link"]
    assert "Links: what was asked" in done.stdout
    assert done.stdout.count("over rtt=5ms") >= 2
    assert done.stdout.count("over lan-100m") >= 2
    figures = {each["case"]["case_id"]: each["figures"] for each in done.result["summaries"]}
    slow = [run for run in done.runs if cases[run["case_id"]]["link"] == "rtt=5ms"]
    assert slow
    for run in slow:
        # All but what calibrating took off, which may be too much where the host was busy then.
        least_us = (5_000_000 - run["link"]["excess_ns"]) / 1e3
        assert figures[run["case_id"]][SHORTEST[workload]]["median"] >= 0.999 * least_us


def test_cases_whose_samples_alternate_share_a_link(tmp_path: Path) -> None:
    command = Command(tmp_path, "sizes")
    done = command.run(
        *("--sizes", "100,1kB", "--round-trips", 1, "--samples", 100, "--no-local"),
        *("--rounds", 1, "--link", "rtt=1ms"),
    )
    command.end()
    assert done.code == 0, done.stderr
    first, second = done.runs
    of_link = [
        {name: n for name, n in run["counters"].items() if name.startswith("link_")}
        for run in (first, second)
    ]
    assert of_link[0] == of_link[1]
    # Two hundred connections, none of which has fewer segments than a handshake and an end.
    assert of_link[0]["link_near_to_far_packets"] >= 200 * 4
    assert first["link"] == second["link"]
    assert first["link"]["meaning"] == "rtt=1ms"
    assert first["counters"]["kernel_OutSegs"] is None
    assert len(first["slices"]["total_p50_us"]) == 100
