"""What is said of the far host's clock is true: one clock, of which two namespaces see two times.

The far host's CLOCK_MONOTONIC is ahead by exactly PLANTED_S (time_namespaces(7)), so that how wrong
a difference is can be seen. The way there and the way back are as slow as the test says.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from tests.hosts.namespaces.apart import PLANTED_S, Apart, apart, needs_two_hosts

from tinygram_bench.hosts import far_host
from tinygram_bench.hosts.address import parse_server
from tinygram_bench.hosts.clock import Clock
from tinygram_bench.hosts.difference import Followed
from tinygram_bench.hosts.far_host import FarHost
from tinygram_bench.hosts.looks import Look

PLANTED_NS = PLANTED_S * 10**9
MS_NS = 10**6
EVERY_NS = 100 * MS_NS
STEP_PPM = 400
_CONNECTED_S = 20.0
pytestmark = needs_two_hosts


def carry(source: socket.socket, target: socket.socket, delay_s: float) -> None:
    """Bring what comes to the other side, so much later; and its end."""
    with source, target:
        while data := source.recv(1 << 10):
            time.sleep(delay_s)
            target.sendall(data)


@contextmanager
def slowly(host: str, port: int, there_s: float, back_s: float) -> Iterator[int]:
    """A port of the near host from which one connection leads there."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # A test that fails before it connects must not wait for one that never comes.
        listener.settimeout(_CONNECTED_S)

        def lead() -> None:
            near, _ = listener.accept()
            far = socket.create_connection((host, port))
            for sock in (near, far):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=carry, args=(far.dup(), near.dup(), back_s), daemon=True)
            back.start()
            carry(near, far, there_s)
            back.join()

        leading = threading.Thread(target=lead, daemon=True)
        leading.start()
        yield listener.getsockname()[1]
        leading.join(_CONNECTED_S)


def seen(
    two: Apart, there_s: float, back_s: float, monkeypatch: pytest.MonkeyPatch
) -> tuple[Followed, int, int]:
    """What is made of the far clock over such a way; in ns, the shortest round trip, and by how
    much it is wrong between two looks.
    """

    for name, value in two.environment.items():
        monkeypatch.setenv(name, value)
    with ExitStack() as stack:

        def over_the_way(host: str, port: int, token: bytes) -> Clock:
            way = stack.enter_context(slowly(host, port, there_s, back_s))
            return Clock("127.0.0.1", way, token)

        monkeypatch.setattr(far_host, "Clock", over_the_way)
        with closing(FarHost(parse_server(two.address))) as host:
            host.clock.look()
            between_ns = time.monotonic_ns()
            host.clock.look()
            found, round_trip_ns = host.clock.followed(between_ns), host.clock.round_trip_ns
            wrong_ns = wrong_by_ns(found, between_ns)
    return found, round_trip_ns, wrong_ns


def wrong_by_ns(found: Followed, at_ns: int) -> int:
    """How far the difference is from the truth, at a time of the near clock."""
    return at_ns - found.near_ns(at_ns + PLANTED_NS)


def test_an_offset_that_was_planted_is_found_within_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with apart(tmp_path) as two:
        found, round_trip_ns, wrong_ns = seen(two, 0, 0, monkeypatch)
    assert abs(wrong_ns) <= found.bound_ns
    assert found.bound_ns >= round_trip_ns // 2


def test_over_a_way_that_is_as_slow_there_as_back_the_bound_covers_the_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with apart(tmp_path) as two:
        found, round_trip_ns, wrong_ns = seen(two, 0.005, 0.005, monkeypatch)
    assert round_trip_ns >= 10 * MS_NS
    assert abs(wrong_ns) <= found.bound_ns
    # Far better than the bound, which must also cover what cannot be known: how the way's time is
    # divided. What else a round trip took on a busy host may have been on one way alone.
    assert abs(wrong_ns) <= found.bound_ns - 5 * MS_NS


@pytest.mark.parametrize(("there_s", "back_s"), [(0.01, 0.0), (0.0, 0.01)])
def test_over_a_way_that_is_slower_in_one_direction_half_the_difference_is_wrong_and_covered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there_s: float, back_s: float
) -> None:
    with apart(tmp_path) as two:
        found, round_trip_ns, wrong_ns = seen(two, there_s, back_s, monkeypatch)
    assert round_trip_ns >= 10 * MS_NS
    # The far clock seems to be ahead by half of what the way there takes longer.
    planted_ns = (there_s - back_s) / 2 * 1e9
    assert abs(wrong_ns - planted_ns) <= found.bound_ns - 5 * MS_NS
    assert abs(wrong_ns) <= found.bound_ns


class DriftingClock(Clock):
    """The far host's clock, beside which ours begins to run slower in the middle of a run."""

    step_ns = 1 << 62

    @classmethod
    def ahead_ns(cls, at_ns: int) -> int:
        """How far the far clock has come, in addition to what was planted."""
        return max(0, at_ns - cls.step_ns) * STEP_PPM // 10**6

    def _ask(self) -> Look:
        look = super()._ask()
        return look._replace(offset_ns=look.offset_ns + self.ahead_ns(look.at_ns))


def test_a_clock_that_changes_its_rate_during_a_run_is_followed_within_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(far_host, "Clock", DriftingClock)
    with apart(tmp_path) as two:
        for name, value in two.environment.items():
            monkeypatch.setenv(name, value)
        with closing(FarHost(parse_server(two.address))) as host:
            host.clock.look()
            start_ns = time.monotonic_ns()
            monkeypatch.setattr(DriftingClock, "step_ns", start_ns + 11 * EVERY_NS // 2)
            for _ in range(12):
                time.sleep(EVERY_NS / 1e9)
                host.clock.look_between(time.monotonic_ns() + MS_NS)
            end_ns = time.monotonic_ns()
            host.clock.look()
            found = host.clock.followed(start_ns)
    wrong_ns = [
        abs(found.far_ns(at) - at - PLANTED_NS - DriftingClock.ahead_ns(at))
        for at in range(start_ns, end_ns, MS_NS)
    ]
    assert max(wrong_ns) <= found.bound_ns


def test_a_report_states_the_bound_beside_latencies_and_no_smaller_than_in_any_round(
    tmp_path: Path,
) -> None:
    ways = ("--only", "loop/nodelay", "--only", "loop/cork", "--rounds", 3)
    with apart(tmp_path) as two:
        done = two.command(tmp_path / "stream", "stream").run(
            *ways,
            *("--rate", "1k", "--duration", "500ms", "--server", two.address),
            environment=two.environment,
        )
    assert done.code == 0, done.stderr
    lines = done.stdout.splitlines()
    rule = next(at for at, line in enumerate(lines) if line.startswith("---"))
    column = lines[rule - 1].split().index("clock")
    for strategy in ("nodelay", "cork"):
        bounds_ns = [
            run["counters"]["clock_bound_ns"]
            for run in done.runs
            if f"/{strategy}/" in run["case_id"]
        ]
        assert len(bounds_ns) == 3
        row = next(line for line in lines[rule:] if line.startswith(f"loop/{strategy}"))
        assert max(bounds_ns) <= float(row.replace(" rtt/2", "").split()[column]) * 1_000
