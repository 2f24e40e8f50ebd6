"""A few lines of plain Python at one end, ours at the other: the wire is what the design says."""

from __future__ import annotations

import pytest
from tests.sizes.plain import answer, exchange
from tests.support.command import Command
from tests.support.foreign_servers import peer
from tests.support.serve_command import serving

FEW = ("--sizes", "1,30kB", "--round-trips", "0,2", "--samples", 100, "--rounds", 1, "--no-local")


@pytest.mark.parametrize("is_joined", [False, True])
def test_another_program_s_client_speaks_with_our_server(is_joined: bool) -> None:
    with serving("sizes") as server:
        for length, count in ((1, 0), (1, 1), (1, 3), (100_000, 2), (5_000_000, 1)):
            acknowledged = exchange(server.port, length, count, is_joined=is_joined)
            assert acknowledged == [length] * count
    assert server.counter("samples") == 5
    assert server.counter("refused connections") == 0


@pytest.mark.parametrize("setup_writes", [1, 2])
def test_our_client_speaks_with_another_s_server(command: Command, setup_writes: int) -> None:
    with peer(answer) as port:
        server = f"127.0.0.1:{port}"
        done = command.run(*FEW, "--setup-writes", setup_writes, "--server", server)
    assert done.code == 0, done.stderr
    assert done.result["environment"]["network"] == "the server's"
    for run in done.result["runs"]:
        assert run["failure"] is None
        assert run["counters"]["samples"] == 100
        assert "other_server" in [warning["code"] for warning in run["warnings"]]
    assert "its bytes were not compared" in done.stdout


def test_our_client_speaks_with_our_server_run_apart(command: Command) -> None:
    with serving("sizes") as server:
        done = command.run(*FEW, "--server", f"localhost:{server.port}")
    assert done.code == 0, done.stderr
    # One more came first, to see whether there is an answer, and in each of the two cells that have
    # messages one whose last byte was withheld.
    assert server.counter("samples") == 4 * 110 + 1 + 2


def test_what_our_server_refuses_fails_the_run_and_names_the_length(command: Command) -> None:
    with serving("sizes", "--max-message", "20kB") as server:
        done = command.run(*FEW, "--server", f"127.0.0.1:{server.port}")
    assert done.code == 1
    failures = {run["case_id"]: run["failure"] for run in done.result["runs"]}
    for case_id, failure in failures.items():
        if "/30000B/" in case_id:
            assert "it may not take messages of 30000 bytes" in failure
        else:
            assert failure is None
