"""A peer's run is bounded and leaves nothing; it has a figure, or a reason why it has none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from tests.crosscheck import outputs
from tests.crosscheck.fakes import SILENT, prints, write_sockperf
from tests.support.plans.stream import planned
from tests.support.waiting import wait_until

from tinygram_bench.crosscheck import run
from tinygram_bench.crosscheck.control import common_congestion_control
from tinygram_bench.crosscheck.interleaved import Interleaved
from tinygram_bench.crosscheck.run import run_peer
from tinygram_bench.crosscheck.selection import Chosen, choose
from tinygram_bench.host.network import private_network
from tinygram_bench.model.cross_check import PeerRun
from tinygram_bench.model.result import Case, MessageBytes, Plan, Run
from tinygram_bench.runs.progress import Progress
from tinygram_bench.runs.rounds import run_plan

LONGEST_S = 60.0


@cache
def plan() -> Plan:
    """With a congestion control that peers can be given here."""
    return planned(
        "runtime=native,strategy=nodelay",
        message_bytes=MessageBytes(100, 100),
        placement="same",
        congestion_control=common_congestion_control(None),
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first folder in PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(run, "_LISTEN_LIMIT_S", LONGEST_S)
    monkeypatch.setattr(run, "_CLIENT_LIMIT_S", LONGEST_S)
    return tmp_path


def sockperf() -> Chosen:
    chosen, _ = choose(plan())
    return next(each for each in chosen if each.peer.peer_id == "sockperf/nodelay")


def test_a_run_has_the_programs_figure_and_the_kernels_counts(folder: Path) -> None:
    write_sockperf(folder, client=prints(outputs.SOCKPERF_THROUGHPUT))
    found = run_peer(sockperf(), 3)
    assert (found.peer_id, found.round, found.failure) == ("sockperf/nodelay", 3, None)
    assert found.value == 399_950
    assert found.counters["messages"] == 400_000
    with private_network() as network:
        assert (found.counters["kernel_OutSegs"] is not None) == network.is_private


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        # A status of 0 is no success: that is how sockperf ends where nobody listens.
        (prints("sockperf: Test ended\n"), "its output has no message rate"),
        (prints("", 3), "the sockperf client failed with status 3"),
        (prints(outputs.SOCKPERF_THROUGHPUT, 1), "the sockperf client failed with status 1"),
        ("import sys; sys.exit('no such host')", "status 1: no such host"),
    ],
)
def test_a_client_without_a_figure_is_a_failure(folder: Path, client: str, reason: str) -> None:
    write_sockperf(folder, client=client)
    found = run_peer(sockperf(), 0)
    assert found.value is None
    assert found.failure is not None
    assert reason in found.failure


def test_a_client_that_never_ends_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_CLIENT_LIMIT_S", 0.3)
    write_sockperf(folder, client=SILENT)
    assert run_peer(sockperf(), 0).failure == ("the sockperf client did not finish within 0.3 s")
    check_none_runs(folder)


@pytest.mark.parametrize(
    ("server", "reason", "limit_s"),
    [
        (
            *("import sys; sys.exit('address in use')", "ended with status 1 before it listened"),
            LONGEST_S,
        ),
        ("pass", "the sockperf server ended with status 0 before it listened", LONGEST_S),
        (SILENT, "the sockperf server did not listen on port", 0.5),
    ],
)
def test_a_server_that_does_not_listen_is_a_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch, server: str, reason: str, limit_s: float
) -> None:
    monkeypatch.setattr(run, "_LISTEN_LIMIT_S", limit_s)
    write_sockperf(folder, server=server, client=prints(outputs.SOCKPERF_THROUGHPUT))
    failure = run_peer(sockperf(), 0).failure
    assert failure is not None
    assert reason in failure
    check_none_runs(folder)


def test_peers_run_once_in_each_round_and_are_no_cases_of_the_result(folder: Path) -> None:
    write_sockperf(folder, client=prints(""))
    chosen, (_, absent) = [sockperf()], choose(plan())

    def run_cases(cases: Sequence[Case], round: int) -> list[Run]:
        return [Run(case.case_id, round, {}, {}) for case in cases]

    def run_one(each: Chosen, round: int) -> PeerRun:
        failure = "it broke" if round == 1 else None
        return PeerRun(each.peer.peer_id, round, None if failure else 1.0, {}, failure)

    peers = Interleaved(plan(), chosen, absent, run_one)
    total = len(peers.plan.cases) * plan().rounds
    runs, _ = run_plan(peers.plan, peers.around(run_cases), Progress(total, quiet=True))
    assert len(runs) == total == 2 * plan().rounds
    assert [each.failure for each in runs if each.failure] == ["it broke"]
    ours = peers.without_peers(runs)
    assert {each.case_id for each in ours} == {plan().cases[0].case_id}
    assert len(ours) == plan().rounds
    found = peers.found()
    assert [each.round for each in found.runs] == [0, 1, 2]
    assert found.absent == absent


def check_none_runs(folder: Path) -> None:
    """What was killed, and was nobody's child, may take a moment to be gone."""
    wait_until(lambda: not running(folder), LONGEST_S, lambda: f"{running(folder)} are gone")


def running(folder: Path) -> list[str]:
    """The processes that run our program."""
    program = f"{folder / 'sockperf'}\0".encode()
    lines = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if program in line:
                lines.append(line.decode(errors="replace"))
    return lines
