"""netem: what is asked of tc(8), and what is read of its answers; a kernel may well have none."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from tinygram_bench.links import parse_link
from tinygram_bench.links.backends.netem import (
    counts_of,
    netem_options,
    ping_pong_rtt_ns,
    ping_pong_spec,
)
from tinygram_bench.links.spec import PRESETS
from tinygram_bench.processes.workers import RunError

EXTREMES = (
    "rtt=45us",
    "rtt=10s,jitter=10s,loss=50%",
    "rtt=1ms,loss=0.0001%,jitter=1ns",
    "rtt=1ms,bandwidth=8kbit,mtu=576",
    "rtt=1ms,bandwidth=100gbit,queue=1gb,mtu=9216",
)


def read_by_tc(words: list[str]) -> str:
    """What tc says of a device that is not there, for which it has read all else before."""
    if shutil.which("tc") is None:
        pytest.skip("tc (iproute2) is missing")
    done = subprocess.run(
        ["tc", "qdisc", "add", "dev", "tg-none", "root", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    return done.stderr


@pytest.mark.parametrize("link", [*PRESETS, *EXTREMES])
def test_tc_can_read_what_is_asked_of_it(link: str) -> None:
    assert read_by_tc(netem_options(parse_link(link))) == 'Cannot find device "tg-none"\n'


def test_tc_would_say_so_otherwise() -> None:
    assert "Cannot find device" not in read_by_tc(["netem", "delay", "soon"])


def test_a_ping_pong_is_over_a_link_without_what_it_would_wait_for() -> None:
    asked = ping_pong_spec(parse_link("rtt=8s,bandwidth=8kbit,jitter=1s,loss=50%"))
    options = " ".join(netem_options(asked))
    assert "delay 5000.000us rate 10000000bit 24" in options
    assert "loss" not in options
    # Twice 36 bytes of IP and 38 of Ethernet, at 10 Mbit/s.
    assert ping_pong_rtt_ns(asked) == 10_000_000 + 2 * 59_200
    short = parse_link("rtt=1ms")
    assert ping_pong_spec(short) == short
    assert ping_pong_rtt_ns(short) == 1_000_000


def told(**changes: object) -> str:
    qdisc = {
        "kind": "netem",
        "handle": "8003:",
        "root": True,
        "options": {"limit": 176},
        "bytes": 2_500,
        "packets": 50,
        "drops": 7,
        "overlimits": 0,
    }
    return json.dumps([qdisc | changes])


@pytest.mark.parametrize("drops", ["lost", "full"])
def test_what_netem_did_is_counted_in_bytes_of_ip(drops: str) -> None:
    assert counts_of(told(), drops) == {"packets": 50, "bytes": 1_800, drops: 7}


@pytest.mark.parametrize(
    "said", ["", "[]", "{}", "[1]", "null", told(kind="tbf"), told(drops="few"), told(bytes=None)]
)
def test_an_answer_that_is_none_fails_the_run(said: str) -> None:
    with pytest.raises(RunError, match="tc: what it says of netem cannot be read"):
        counts_of(said, "full")
