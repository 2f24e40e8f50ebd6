"""Streams over links: the link is in every run, and what only a network shows is shown."""

from __future__ import annotations

from typing import Any

import pytest
from tests.stream.command import Command, Done

pytestmark = pytest.mark.usefixtures("links_permitted")

WAY = ("--only", "runtime=loop,implementation=stdlib,strategy=nagle,strategy=nodelay")


def over(command: Command, *links: str, backend: str = "relay") -> Done:
    options = [word for link in links for word in ("--link", link)]
    return command.run(
        *WAY,
        *("--rounds", 1, "--rate", 5_000, "--duration", "500ms", "--size", 100),
        *(*options, "--link-backend", backend),
    )


def by_case(done: Done) -> dict[str, Any]:
    return {run["case_id"]: run for run in done.runs}


def test_nagle_waits_for_acknowledgements_that_have_a_way_to_go(command: Command) -> None:
    done = over(command, "rtt=5ms", "loopback")
    assert done.code == 0, done.stderr
    figures = {each["case"]["case_id"]: each["figures"] for each in done.result["summaries"]}
    nagle, nodelay = (
        next(name for name in figures if f"/{strategy}/rtt=5ms/" in name)
        for strategy in ("nagle", "nodelay")
    )
    # The one-way time is half of the round trip, and Nagle's messages wait for a round trip.
    assert figures[nodelay]["latency_p50_us"]["median"] >= 2_300
    assert figures[nagle]["latency_p50_us"]["median"] > figures[nodelay]["latency_p50_us"]["median"]
    assert figures[nagle]["messages_per_segment"]["median"] > 3
    assert figures[nodelay]["messages_per_segment"]["median"] < 2


def test_each_run_has_its_links_facts_and_what_it_did(command: Command) -> None:
    done = over(command, "rtt=2ms,bandwidth=100mbit", "loopback")
    assert done.code == 0, done.stderr
    for case_id, run in by_case(done).items():
        if "/loopback/" in case_id:
            assert run["link"] is None
            assert not any(name.startswith("link_") for name in run["counters"])
            continue
        link, counters = run["link"], run["counters"]
        assert link["meaning"] == "rtt=2ms,bandwidth=100mbit"
        assert (link["backend"], link["mtu_bytes"], link["has_offload"]) == ("relay", 1_500, False)
        assert link["queue_bytes"] == 256_000
        assert link["asked_rtt_ns"] >= 2_000_000
        assert 0 <= link["calibration_age_ns"] < 60_000_000_000
        assert counters["link_relay_cpu_ns"] > 0
        assert counters["link_near_to_far_packets"] > 10
        assert counters["link_near_to_far_bytes"] > counters["bytes"]
        assert counters["link_near_to_far_lost"] == 0
        assert counters["link_device_dropped"] == 0
        assert "link_lateness_ns" in run["histograms"]
        # The kernel's counters are those of both hosts: each segment out is one in.
        assert counters["kernel_InSegs"] >= counters["kernel_OutSegs"] * 0.9
    assert "Links: what was asked" in done.stdout
    assert "relay's" in done.stdout
    assert "rtt=2ms,bandwidth=100mbit" in done.stdout


def test_the_backend_of_a_case_is_in_its_parameters(command: Command) -> None:
    done = over(command, "veth", "rtt=1ms")
    assert done.code == 0, done.stderr
    for case in done.result["plan"]["cases"]:
        named = case["parameters"].get("link_backend")
        assert named == (None if case["link"] == "veth" else "relay")
    assert {run["link"]["backend"] for run in done.runs} == {"veth", "relay"}
