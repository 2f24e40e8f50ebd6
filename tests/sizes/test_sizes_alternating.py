"""Single samples of all cases of a link alternate: in which order, what is counted, what fails."""

from __future__ import annotations

import os
import signal
import socket
import struct
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.sizes.plain import answer, exactly
from tests.support.command import Command, Done
from tests.support.foreign_servers import Treat, peer

from tinygram_bench._native import Histogram
from tinygram_bench.schema import json_schema

SAMPLES = 100
FIRST = 3
SIZES = (1, 20, 300)
SMALL = ("--samples", SAMPLES, "--first", FIRST, "--no-local", "--pin", "none")
WAYS = ("--setup-writes", 2, "--setup-writes", 1, "--strategy", "nodelay", "--strategy", "nagle")
COUNTED = (
    *("samples", "server_samples", "server_compared_samples", "server_bytes"),
    *("server_connections", "server_refused_connections", "server_idle_connections"),
)


def noting(lengths: list[int]) -> Treat:
    """The right answer, and the length that was asked for: connections do not overlap."""

    def act(sock: socket.socket) -> None:
        length, count = struct.unpack("!II", exactly(sock, 8))
        lengths.append(length)
        for _ in range(count):
            exactly(sock, length)
            sock.sendall(struct.pack("!I", length))

    return act


def lengths_asked_for(folder: Path, *arguments: object) -> list[list[int]]:
    """The lengths asked for in each of two rounds, in their order."""
    lengths: list[int] = []
    folder.mkdir()
    command = Command(folder, "sizes")
    with peer(noting(lengths)) as port:
        sizes = ",".join(map(str, SIZES))
        done = command.run(
            *SMALL,
            *("--sizes", sizes, "--round-trips", 1, "--rounds", 2),
            *("--server", f"127.0.0.1:{port}"),
            *arguments,
        )
    command.end()
    assert done.code == 0, done.stderr
    # One more came first, to see whether there is an answer.
    of_rounds = lengths[1:]
    middle = len(of_rounds) // 2
    return [of_rounds[:middle], of_rounds[middle:]]


def cycles_of(lengths: list[int]) -> list[tuple[int, ...]]:
    return [tuple(lengths[at : at + len(SIZES)]) for at in range(0, len(lengths), len(SIZES))]


def test_every_cycle_has_each_case_once_in_an_order_of_its_own(tmp_path: Path) -> None:
    rounds = lengths_asked_for(tmp_path / "one")
    for lengths in rounds:
        cycles = cycles_of(lengths)
        # The first ones, one whose last byte is withheld, and the measured ones.
        assert len(cycles) == FIRST + 1 + SAMPLES
        assert {tuple(sorted(cycle)) for cycle in cycles} == {SIZES}
        # All six come, with this seed and nearly every other.
        assert len(set(cycles)) == 6
    assert rounds[0] != rounds[1]
    assert lengths_asked_for(tmp_path / "again") == rounds, "the seed gives the order"
    assert lengths_asked_for(tmp_path / "other", "--seed", 2) != rounds


def test_alone_the_samples_of_a_case_follow_one_another(tmp_path: Path) -> None:
    for lengths in lengths_asked_for(tmp_path / "lone", "--lone"):
        samples = FIRST + 1 + SAMPLES
        runs = [set(lengths[at : at + samples]) for at in range(0, len(lengths), samples)]
        assert sorted(runs, key=min) == [{size} for size in SIZES]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Done]:
    """The same cases in turns, and alone."""
    found = []
    for manner in ((), ("--lone",)):
        command = Command(tmp_path_factory.mktemp("sizes"), "sizes")
        arguments = ("--sizes", "1,10kB", "--round-trips", "0,1,2", "--rounds", 2)
        found.append(command.run(*SMALL, *WAYS, *arguments, *manner))
        command.end()
    return found[0], found[1]


def runs_by_case(done: Done) -> dict[tuple[str, int], Any]:
    return {(run["case_id"], run["round"]): run for run in done.runs}


def test_both_manners_have_the_same_cases_and_counts(both: tuple[Done, Done]) -> None:
    together, alone = (runs_by_case(done) for done in both)
    assert together.keys() == alone.keys()
    for key, run in together.items():
        assert run["failure"] is None
        assert run["sample_counts"] == alone[key]["sample_counts"]
        for name in COUNTED:
            assert run["counters"][name] == alone[key]["counters"][name], (key, name)
        assert Histogram.from_base64(run["histograms"]["first_total_ns"]).count == FIRST


def test_a_case_says_how_it_was_measured(both: tuple[Done, Done]) -> None:
    for done, alternates in zip(both, (True, False), strict=True):
        assert done.code == 0, done.stderr
        jsonschema.validate(done.result, json_schema())
        cases = done.result["plan"]["cases"]
        assert {case["parameters"].get("alternates", False) for case in cases} == {alternates}
        assert not any("slice_ns" in case["parameters"] for case in cases)


def test_each_cycle_has_a_value_within_those_of_all_samples(both: tuple[Done, Done]) -> None:
    together, alone = both
    for run in together.runs:
        (values,) = run["slices"].values()
        assert list(run["slices"]) == ["total_p50_us"]
        assert len(values) == SAMPLES
        total = Histogram.from_base64(run["histograms"]["total_ns"])
        # A histogram has three digits.
        assert min(values) * 1e3 == pytest.approx(total.min_ns, rel=0.002)
        assert max(values) * 1e3 == pytest.approx(total.max_ns, rel=0.002)
    assert all(run["slices"] == {} for run in alone.runs)


def test_what_the_kernel_counts_of_a_network_is_of_no_case(both: tuple[Done, Done]) -> None:
    for run in both[0].runs:
        kernel = {name: n for name, n in run["counters"].items() if name.startswith("kernel_")}
        assert kernel
        assert set(kernel.values()) == {None}
        # What it says of a connection is: without round trips it carries the setup alone.
        if "/0-round-trips/" in run["case_id"]:
            assert run["counters"]["data_segments"] == SAMPLES
        assert run["counters"]["cpu_ns"] > 0


def test_each_case_has_its_own_share_of_the_servers_cpu_time(both: tuple[Done, Done]) -> None:
    for done in both:
        used_ns = {key: run["counters"]["server_cpu_ns"] for key, run in runs_by_case(done).items()}
        assert all(0 < ns < 10**10 for ns in used_ns.values())
        none, two = (
            sum(ns for (case_id, _), ns in used_ns.items() if f"/{trips}-round-trips/" in case_id)
            for trips in (0, 2)
        )
        assert none < two, "a server that reads, compares and acknowledges messages uses more"


def test_of_many_cycles_the_medians_of_blocks_are_kept(command: Command) -> None:
    cells = ("--sizes", "1,2", "--round-trips", 0, "--rounds", 1, "--no-local")
    done = command.run(*cells, "--samples", 1_500)
    assert done.code == 0, done.stderr
    for run in done.runs:
        assert len(run["slices"]["total_p50_us"]) == 750
        assert run["sample_counts"]["total_ns"] == 1_500


def acknowledge_one_wrongly(length: int, sample: int) -> Treat:
    """The right answer to all but those of that length, from that sample on."""
    asked: list[int] = []

    def act(sock: socket.socket) -> None:
        found, count = struct.unpack("!II", exactly(sock, 8))
        asked.append(found)
        is_wrong = found == length and asked.count(length) > sample
        for _ in range(count):
            exactly(sock, found)
            sock.sendall(struct.pack("!I", found + is_wrong))

    return act


@pytest.mark.parametrize("sample", [0, FIRST, FIRST + 20])
def test_a_case_that_fails_is_named_and_the_others_lose_nothing(
    command: Command, sample: int
) -> None:
    with peer(acknowledge_one_wrongly(20, sample)) as port:
        sizes = ",".join(map(str, SIZES))
        done = command.run(
            *(*SMALL, "--sizes", sizes, "--round-trips", 1, "--rounds", 1),
            *("--server", f"127.0.0.1:{port}"),
        )
    assert done.code == 1
    for run in done.runs:
        if "/20B/" not in run["case_id"]:
            assert run["failure"] is None
            assert run["counters"]["samples"] == run["sample_counts"]["total_ns"] == SAMPLES
            continue
        assert run["failure"] == (
            f"the client failed in sample {sample}, message 0: acknowledgement 0 says 21 bytes, "
            "and the message had 20"
        )
        assert (run["counters"], run["histograms"], run["slices"]) == ({}, {}, {})


def test_a_server_that_dies_fails_all_cases_with_its_reason(command: Command) -> None:
    process = command.start(
        *("--sizes", "1,2", "--round-trips", 1, "--samples", 1_000_000, "--rounds", 1),
        *("--no-local", "--pin", "none"),
    )
    command.wait_process("tg-client")
    os.kill(command.wait_process("tg-server"), signal.SIGKILL)
    done = command.finish(process)
    assert done.code == 1
    assert len(done.runs) == 2
    for run in done.runs:
        assert "the server was killed by SIGKILL" in run["failure"]


def test_a_server_that_is_not_ours_answers_all_cases(command: Command) -> None:
    with peer(answer) as port:
        done = command.run(
            *(*SMALL, *WAYS, "--sizes", "1,10kB", "--round-trips", "0,2", "--rounds", 1),
            *("--server", f"127.0.0.1:{port}"),
        )
    assert done.code == 0, done.stderr
    for run in done.runs:
        assert len(run["slices"]["total_p50_us"]) == SAMPLES
        assert "server_samples" not in run["counters"]
        assert "other_server" in [warning["code"] for warning in run["warnings"]]


@pytest.mark.parametrize(
    "arguments",
    [("--sizes", "1,2", "--lone"), ("--sizes", "1,2", "--probe", "10ms"), ("--sizes", "1")],
    ids=["lone", "probe", "one case"],
)
def test_what_runs_alone_has_no_cycles(command: Command, arguments: tuple[object, ...]) -> None:
    done = command.run(*SMALL, *arguments, "--round-trips", 0, "--rounds", 1)
    assert done.code == 0, done.stderr
    for case in done.result["plan"]["cases"]:
        assert "alternates" not in case["parameters"]
    for run in done.runs:
        assert run["slices"] == {}
        assert (run["samples"] is not None) == ("--probe" in arguments)
