"""A server that does wrong fails the run, and is told by name."""

from __future__ import annotations

import socket
import time

import pytest
from tests.rr.peers import replying, right
from tests.support.command import Command, Done
from tests.support.foreign_servers import Treat, after_first, peer, received

from tinygram_bench.workloads.rr.calling import RUNTIMES

REQUEST_BYTES = 100
SMALL = (
    *("--rounds", 1, "--callers", "1x2", "--calls", 3, "--pin", "none", "--strategy", "nodelay"),
    *("--request", REQUEST_BYTES, "--reply", 4, "--sends-per-request", 1),
)


def run_against(command: Command, port: int, *arguments: object) -> Done:
    return command.run(*SMALL, "--server", f"127.0.0.1:{port}", *arguments)


def half_then_close(connection: socket.socket) -> None:
    """Reads only a part of the request: what is unread makes its end a reset."""
    received(connection, REQUEST_BYTES // 2)


FIRST, SECOND = bytes([0, 1, 2, 3]), bytes([1, 2, 3, 4])
WRONG: list[tuple[str, Treat, str]] = [
    ("short", replying(REQUEST_BYTES, FIRST, SECOND[:3]), "after 3 of the 4 bytes"),
    ("wrong", replying(REQUEST_BYTES, FIRST, FIRST), "reply to request 1 of a connection is wrong"),
    ("resets", half_then_close, ""),
]


EACH_RUNTIME = [word for runtime in RUNTIMES for word in ("--runtime", runtime)]
ON_CONNECTIONS = ("per-request", "per-caller", "shared")


def each_of(*connections: str) -> list[str]:
    return [*EACH_RUNTIME, *(word for each in connections for word in ("--connections", each))]


def test_a_server_of_another_program_is_as_good_as_ours(command: Command) -> None:
    with peer(right(REQUEST_BYTES, 4)) as port:
        done = run_against(command, port, *each_of(*ON_CONNECTIONS))
    assert done.code == 0, done.stderr
    assert len(done.runs) == len(RUNTIMES) * len(ON_CONNECTIONS)
    for index, run in enumerate(done.runs):
        counters = done.counters_of(index)
        assert counters["calls"] == 2 * 3
        assert "server_requests" not in counters
        assert counters["kernel_ListenOverflows"] is None
        assert "host_network" in {warning["code"] for warning in run["warnings"]}


@pytest.mark.parametrize(
    ("treat", "said"), [fault[1:] for fault in WRONG], ids=[fault[0] for fault in WRONG]
)
def test_what_it_does_wrong_is_told(command: Command, treat: Treat, said: str) -> None:
    with peer(treat) as port:
        done = run_against(command, port, *each_of("per-caller", "shared"))
    assert done.code == 1
    assert len(done.runs) == len(RUNTIMES) * 2
    for run in done.runs:
        assert run["failure"].startswith("the callers 1 failed with status 1: "), run["case_id"]
        assert said in run["failure"], run["case_id"]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_server_that_ceases_to_reply_fails_the_run_in_time(
    command: Command, runtime: str
) -> None:
    def never_reply(connection: socket.socket) -> None:
        # Until the callers are gone.
        while connection.recv(1 << 16):
            pass

    # The first is asked whether it answers, the next whether it waits for the whole request.
    is_right = right(REQUEST_BYTES, 4)
    with peer(after_first(is_right, after_first(is_right, never_reply))) as port:
        began_s = time.monotonic()
        done = run_against(
            *(command, port, "--runtime", runtime, "--connections", "per-caller"),
            *("--timeout", "3s"),
        )
    assert done.code == 1
    assert "in time" in done.runs[0]["failure"] or "within 3 s" in done.runs[0]["failure"]
    # Far from the 120 s that a run may take otherwise.
    assert time.monotonic() - began_s < 100
