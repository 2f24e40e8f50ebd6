"""Streams whose sender is on the other host, and TLS between the two."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from tests.hosts.far_server import named_child
from tests.support.command import Command, Refused
from tests.support.serve_command import serving

WAYS = ("--only", "loop/nodelay", "--only", "asyncio/tinygram/adaptive", "--rounds", 1)
PACED = ("--rate", "1k", "--duration", "200ms")
RR = (
    *("rr", "--rounds", 1, "--callers", "1x2", "--duration", "300ms", "--runtime", "asyncio"),
    *("--strategy", "nodelay", "--connections", "per-caller", "--sends-per-request", 1),
)
ECHO = ("echo", "--rounds", 1, "--only", "threads/recv", "--size", 1000, "--duration", "300ms")
LATEST_S = 60.0
"""Far more than it takes to tell, and half of what a run may take that nobody ends."""
# Flat out long enough for a host that stops either end for some slices.
LOADS: dict[str, tuple[object, ...]] = {
    "in reverse, flat out in slices": ("stream", "--reverse", *WAYS, "--duration", "300ms"),
    "in reverse, flat out alone": ("stream", "--reverse", *WAYS, "--messages", 20_000),
    "in reverse, paced in slices": ("stream", "--reverse", *WAYS, *PACED),
    "in reverse, paced alone": ("stream", "--reverse", *WAYS, *PACED, "--lone"),
    "in reverse, of producers": (
        *("stream", "--reverse", "--only", "threads/tinygram/combine", "--rounds", 1),
        *("--producers", 2, "--duration", "300ms"),
    ),
    "over TLS, flat out": ("stream", "--tls", *WAYS, "--duration", "300ms"),
    "over TLS, paced": ("stream", "--tls", *WAYS, *PACED),
    "in reverse over TLS": ("stream", "--tls", "--reverse", *WAYS, *PACED),
    "in both directions, flat out": (
        *("stream", "--bidirectional", *WAYS),
        *("--duration", "300ms", "--timeout", "30s"),
    ),
    "in both directions over TLS": ("stream", "--bidirectional", "--tls", *WAYS, *PACED),
    "calls over TLS": (*RR, "--tls"),
    "echoes over TLS": (
        *(*ECHO, "--tls", "--only", "asyncio/protocol", "--only", "asyncio/tinygram/protocol"),
        *("--only", "uvloop/protocol", "--only", "uvloop/tinygram/protocol"),
        *("--only", "asyncio/aiofastnet/protocol"),
    ),
}


@pytest.mark.parametrize("load", LOADS)
def test_every_byte_is_accounted_for_between_two_hosts(
    tmp_path: Path, server: str, load: str
) -> None:
    workload, *options = LOADS[load]
    done = Command(tmp_path, str(workload)).run(*options, "--server", server)
    assert done.code == 0, done.stderr
    assert [run["failure"] for run in done.runs] == [None] * len(done.runs)
    for run in done.runs:
        counters = run["counters"]
        if load.startswith("in reverse"):
            assert run["case_id"].endswith("/reverse")
            assert counters["written_bytes"] >= counters["bytes"] > 0
            assert counters["cpu_ns"] > 0
        if "TLS" in load:
            assert counters["tls_records"] > 0


def test_a_sender_that_dies_on_the_far_host_is_told_by_name(tmp_path: Path) -> None:
    with serving("--port", 0) as served:
        command = Command(tmp_path, "stream")
        process = command.start(
            *("--reverse", "--only", "loop/nodelay", "--rounds", 1, "--rate", "1k"),
            *("--duration", "30s", "--server", f"127.0.0.1:{served.port}"),
        )
        give_up_s = time.monotonic() + 60
        while not (senders := named_child(served.process.pid, "tg-sender")):
            assert process.poll() is None
            assert time.monotonic() < give_up_s
            time.sleep(0.01)
        os.kill(senders[0], signal.SIGKILL)
        killed_s = time.monotonic()
        done = command.finish(process)
    assert time.monotonic() - killed_s < LATEST_S
    assert done.code == 1
    assert "on the far host, the sender was killed by SIGKILL" in done.runs[0]["failure"]


def test_more_slices_than_a_far_sender_can_be_told_are_refused_before(
    server: str, refused: Refused
) -> None:
    words = ("--reverse", *map(str, WAYS), "--duration", "10min", "--slice", "20ms")
    said = "a sender on the far host can be told 4,000 slices"
    refused(("stream", *words, "--server", server), (said,))
