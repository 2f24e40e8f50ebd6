"""A link that drops everything from the middle of a round on: told within 10 s on both hosts."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest
from tests.hosts.namespaces.apart import Apart, apart, needs_two_hosts
from tests.support.command import Command, Done
from tests.support.processes import children_of
from tests.support.waiting import wait_until

LATEST_S = 10.0
"""What the documentation says of every load."""
ATTEMPTS = 3
"""How often that is tried on a host that may run other tests meanwhile."""
BUSY_S = 30.0
"""What an attempt may take more there."""
AT_A_TIME = 3
ROUND_S = 1
ROUNDS = 6
"""Enough rounds that some are left when a busy host cuts the link late."""
pytestmark = needs_two_hosts

LOADS = {
    "stream": ("--only", "loop/nodelay", "--rate", "1k"),
    "stream flat out": ("--only", "loop/nodelay"),
    "stream in reverse": ("--only", "loop/nodelay", "--rate", "1k", "--reverse"),
    "stream in both directions": ("--only", "loop/nodelay", "--rate", "1k", "--bidirectional"),
    "stream over TLS": ("--only", "loop/nodelay", "--rate", "1k", "--tls"),
    "rr": (
        *("--callers", "1x2", "--runtime", "native", "--strategy", "nodelay"),
        *("--connections", "per-caller", "--sends-per-request", 1),
    ),
    "rr of an event loop": (
        *("--callers", "1x2", "--runtime", "asyncio", "--strategy", "nodelay"),
        *("--connections", "per-request", "--sends-per-request", 1),
    ),
    "echo": ("--only", "threads/recv", "--size", 1000),
    "fanout": ("--only", "native/epoll", "--only", "asyncio/protocol", "--subscribers", 10),
    "fanout alone": ("--only", "native/epoll", "--subscribers", 10, "--lone"),
    "sizes": ("--sizes", 1000, "--round-trips", 1, "--samples", 10_000, "--no-local"),
}
"""Their rounds last `ROUND_S`; those of `sizes`, which takes no duration, about as long."""


def started(two: Apart, folder: Path, name: str) -> tuple[Command, subprocess.Popen[str]]:
    """A command of some rounds, of which the first has ended."""
    command = two.command(folder, name.split()[0])
    lasting = () if name == "sizes" else ("--duration", f"{ROUND_S}s")
    process = command.start(
        *(*LOADS[name], *lasting, "--rounds", ROUNDS, "--server", two.address),
        environment=two.environment,
    )
    wait_until(
        lambda: command.result_path.exists() or process.poll() is not None, 60, "a first round"
    )
    assert process.poll() is None, process.communicate()
    time.sleep(ROUND_S / 4)  # Into the second round: where in it does not matter.
    return command, process


def check_told(done: Done, address: str) -> None:
    """Rounds that were over are kept, the others say which host was lost, and what to do."""
    assert done.code == 1, done.stderr
    assert "Traceback" not in done.stderr
    failures = [run["failure"] for run in done.runs]
    kept = len(list(takewhile(lambda failure: failure is None, failures)))
    assert 1 <= kept < len(failures)
    assert len(failures) == ROUNDS * len(done.result["plan"]["cases"])
    for failure in failures[kept:]:
        assert address in failure, failure
        assert "see that `tinygram serve` runs there" in failure, failure


@dataclass(frozen=True)
class CutOff:
    """A command whose link was cut, and how long it took from then on."""

    done: Done
    address: str
    took_s: float


@pytest.fixture(scope="module")
def cut_off(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CutOff]:
    """All loads, some at a time: what they do most is wait."""
    folders = [tmp_path_factory.mktemp("cut-off") for _ in LOADS]
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        return dict(zip(LOADS, threads.map(cut_in_its_midst, folders, LOADS), strict=True))


def cut_in_its_midst(folder: Path, name: str) -> CutOff:
    with apart(folder) as two:
        command, process = started(two, folder / "run", name)
        two.cut()
        cut_s = time.monotonic()
        done = command.finish(process)
        return CutOff(done, two.address, time.monotonic() - cut_s)


def assert_in_time(took_s: float, attempt: Callable[[Path], float], folder: Path) -> None:
    """It took less than `LATEST_S`, or does so in one of some more attempts."""
    all_s = [took_s]
    while all_s[-1] >= LATEST_S and len(all_s) < ATTEMPTS:
        own = folder / f"attempt {len(all_s)}"
        own.mkdir()
        all_s.append(attempt(own))
    assert all_s[-1] < LATEST_S, all_s


@pytest.mark.parametrize("name", LOADS)
def test_a_link_that_drops_everything_is_told_and_finished_rounds_are_kept(
    cut_off: dict[str, CutOff], tmp_path: Path, name: str
) -> None:
    found = cut_off[name]
    check_told(found.done, found.address)
    assert found.address in found.done.stderr + found.done.stdout
    assert_in_time(found.took_s, lambda folder: cut_in_its_midst(folder, name).took_s, tmp_path)


def test_a_server_gives_up_a_client_that_is_cut_off_and_ends_what_it_had_started(
    tmp_path: Path,
) -> None:
    def given_up_s(folder: Path) -> float:
        latest_s = LATEST_S + BUSY_S
        with apart(folder, through=()) as two:
            command, process = started(two, folder / "run", "stream")
            assert children_of(two.server.pid)
            two.cut()
            cut_s = time.monotonic()
            wait_until(lambda: not children_of(two.server.pid), latest_s, "all have ended")
            took_s = time.monotonic() - cut_s
            command.finish(process)
            two.server.terminate()
            _, said = two.server.communicate(timeout=latest_s)
        assert re.search(r"lost [0-9.]+: ", said), said
        assert "Traceback" not in said
        return took_s

    assert_in_time(given_up_s(tmp_path), given_up_s, tmp_path)


def test_a_link_that_drops_everything_before_the_first_round_is_a_usage_error(
    tmp_path: Path,
) -> None:
    def refused_s(folder: Path) -> float:
        with apart(folder) as two:
            two.cut()
            begun_s = time.monotonic()
            done = two.command(folder / "run", "stream").run(
                *("--only", "loop/nodelay", "--rounds", 1, "--server", two.address),
                environment=two.environment,
            )
            took_s = time.monotonic() - begun_s
        assert done.code == 2
        assert f"connecting to {two.address} port 5201 failed" in done.stderr
        assert "start `tinygram serve --bind ADDRESS` on that host" in done.stderr
        return took_s

    assert_in_time(refused_s(tmp_path), refused_s, tmp_path)
