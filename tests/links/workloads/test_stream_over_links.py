"""Streams over links: the link is in every run, and what only a network shows is shown."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.command import Command, Done

from tinygram_bench._native import Histogram

pytestmark = pytest.mark.usefixtures("links_permitted")

MSS_BYTES = 1_500 - 20 - 20 - 12
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
    runs = by_case(done)
    nagle, nodelay = (
        next(run for case_id, run in runs.items() if f"/{strategy}/rtt=5ms/" in case_id)
        for strategy in ("nagle", "nodelay")
    )
    for run in (nagle, nodelay):
        assert run["counters"]["writes"] == run["counters"]["messages"] == 2_500
        # What calibrating took off of a round trip is known: the rest it takes, half of it one way.
        one_way_ns = (5_000_000 - run["link"]["excess_ns"]) / 2
        latency = Histogram.from_base64(run["histograms"]["latency_ns"])
        assert latency.min_ns >= 0.999 * one_way_ns
    # In a round trip only one segment that is not full is under way, for which the next one waits;
    # and a loss probe may be one, two round trips later (RFC 8985).
    counters = nagle["counters"]
    round_trips = counters["run_time_ns"] / max(1, 5_000_000 - nagle["link"]["excess_ns"])
    full_segments = counters["bytes"] / MSS_BYTES
    assert 0 < counters["data_segments"] <= 2 * round_trips + full_segments + 2
    # nodelay makes more of them, if the host does not stop: then what is beyond the window, or was
    # late, leaves together.
    assert nodelay["counters"]["data_segments"] > full_segments


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
