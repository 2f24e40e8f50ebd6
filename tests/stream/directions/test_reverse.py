"""`--reverse`: the far end sends from every runtime, and every byte is accounted for."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.command import Done, Refused, run_once
from tests.support.plans.stream import planned

from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.ways import runtimes
from tinygram_bench.workloads.stream.run import Stream

MESSAGES = 1_000
STRATEGIES = ("nodelay", "tick", "combine")
WAYS = [
    f"{runtime.name}/{runtime.implementation}/{strategy}"
    for runtime, strategy in runtimes.all_ways()
    if strategy.name in STRATEGIES
]
"""Each runtime, in each of its manners: who connects is nothing to a strategy."""


def reversed_stream(folder: Path, *options: object) -> Done:
    return run_once(folder, "stream", "--reverse", "--rounds", 1, *options)


def check(done: Done) -> None:
    """Every run succeeded, and what was written is what came."""
    assert done.code == 0, done.stderr
    for number, run in enumerate(done.runs):
        counters = done.counters_of(number)
        assert run["case_id"].endswith("/reverse")
        wire_bytes = counters.get("wire_bytes", counters["bytes"])
        assert counters["written_bytes"] == wire_bytes + counters.get("closing_wire_bytes", 0)
        assert counters["bytes"] > counters["messages"] > 0
        assert counters["cpu_ns"] > 0
        assert counters["connect_ns"] > 0


@pytest.fixture(scope="module")
def every_runtime(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("every-runtime-in-reverse")
    words = [word for name in STRATEGIES for word in ("--strategy", name)]
    return reversed_stream(folder, "--all", "--messages", MESSAGES, *words)


@pytest.mark.parametrize("way", WAYS)
def test_every_runtime_sends_from_the_far_end(every_runtime: Done, way: str) -> None:
    assert every_runtime.code == 0, every_runtime.stderr
    run = every_runtime.run_of(f"stream/{way}/")
    counters = run["counters"]
    assert run["failure"] is None
    assert counters["messages"] == MESSAGES
    assert counters["written_bytes"] == counters["bytes"]
    assert 0 < counters["writes"] <= MESSAGES + counters["would_block"]


TWO = ("--only", "loop/nodelay", "--only", "asyncio/tinygram/adaptive")
# Flat out so long that a host which stops does not take all slices of a way.
LOADS: dict[str, tuple[object, ...]] = {
    "flat out in slices": ("--duration", "300ms", *TWO),
    "paced in slices": ("--rate", "1k", "--duration", "100ms", *TWO),
    "paced alone": ("--rate", "1k", "--duration", "100ms", "--lone", *TWO),
    "of several producers": (
        *("--producers", 3, "--duration", "300ms"),
        *("--only", "threads/tinygram/combine", "--only", "threads/nodelay"),
    ),
    "over TLS": ("--tls", "--rate", "1k", "--duration", "100ms", *TWO),
    "over a link": ("--link", "lan-1g", "--rate", "1k", "--duration", "100ms", *TWO),
}


@pytest.mark.parametrize("load", LOADS)
def test_every_load_goes_from_the_far_end_to_the_near_one(tmp_path: Path, load: str) -> None:
    done = reversed_stream(tmp_path, *LOADS[load])
    check(done)
    if load == "over a link":
        for number in range(len(done.runs)):
            counters = done.counters_of(number)
            # Those that the receiver's host has sent are counted, too; one that comes between two
            # looks of the start is in one count alone.
            assert counters["segments_in"] > 0
            assert counters["kernel_OutSegs"] > counters["segments_out"]
    if load == "over TLS":
        assert all(run["counters"]["tls_records"] > 0 for run in done.runs)


def test_many_connections_are_made_from_the_near_end(tmp_path: Path) -> None:
    done = reversed_stream(
        tmp_path, "--connections", 50, "--only", "native/nodelay", "--messages", 2_000
    )
    assert done.code == 0, done.stderr
    assert done.counters_of()["messages"] == 2_000


def test_a_report_says_who_sends(every_runtime: Done) -> None:
    assert "the far end sends" in every_runtime.stdout


def test_the_sender_is_on_the_same_core_in_either_direction() -> None:
    (case,) = planned("loop/nodelay", placement="apart").cases
    asked = replace(StreamParameters.of(case), direction="reverse")
    there, back = (Stream(1).where(each) for each in (case, replace(case, parameters=asked)))
    assert (back.receiver_cpu, back.sender_cpu) == (there.sender_cpu, there.receiver_cpu)


REFUSED: dict[str, tuple[str, ...]] = {
    "--receiver-command": ("--receiver-command", "true"),
    "--cross-check": ("--cross-check",),
    "--probe": ("--probe", "10ms"),
    "--cluster": ("--cluster", "auto"),
}


@pytest.mark.parametrize("option", REFUSED)
def test_what_has_its_sender_at_the_near_end_is_refused_by_name(
    tmp_path: Path, refused: Refused, option: str
) -> None:
    path = tmp_path / "result.json"
    reverse = ("stream", "--reverse", "--rounds", "1", "--json", str(path))
    said = (f"--reverse cannot be combined with {option}",)
    refused((*reverse, *REFUSED[option]), said)
    assert not path.exists()
