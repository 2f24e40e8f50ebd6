"""While cases take turns, those who watch hear between slices how fast each is so far."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import msgspec
from tests.runs.test_progress import ERASE, FLAT_OUT, PACED, FakeClock, FakeStream, run_of
from tests.support.waiting import GONE_S, wait_until

from tinygram_bench.host.probes.stolen import CpuTime
from tinygram_bench.model.result import MessageBytes
from tinygram_bench.runs.progress import Progress
from tinygram_bench.runs.progress.arrived import Arrived, _received
from tinygram_bench.runs.progress.live import Live
from tinygram_bench.runs.slices import Slices

MS = 1_000_000
READER = """
import socket, sys
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    sock, _ = listener.accept()
    print("accepted", flush=True)
    while sock.recv(1 << 16):
        print("read", flush=True)
"""


def test_what_has_come_to_another_process_is_told_and_its_peer_hears_of_its_end() -> None:
    with subprocess.Popen([sys.executable, "-c", READER], stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        port = int(reader.stdout.readline())
        with Arrived([reader.pid]) as listening:
            assert listening.bytes() is None
        with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
            reader.stdout.readline()
            with Arrived([reader.pid]) as arrived:
                assert arrived.bytes() == 0
                sock.sendall(bytes(1_000))
                wait_until(lambda: arrived.bytes() == 1_000, GONE_S, "the bytes have not come")
                # A connection with bytes that nobody has read would be reset.
                reader.stdout.readline()
                reader.kill()
                assert sock.recv(1) == b""
                wait_until(lambda: arrived.bytes() is None, GONE_S, "it is still connected")
    with Arrived([reader.pid]) as ended:
        assert ended.bytes() is None


def test_a_descriptor_that_is_no_socket_any_more_is_not_kept(tmp_path: Path) -> None:
    pidfd = os.pidfd_open(os.getpid())
    with open(tmp_path / "file", "w") as file:
        before = os.listdir("/proc/self/fd")
        assert _received(pidfd, file.fileno()) is None
        assert os.listdir("/proc/self/fd") == before
    os.close(pidfd)


class Arriving:
    """100 messages of 100 bytes have come each time that somebody asks, in a second each."""

    asked = 0

    def __init__(self, _pids: object) -> None:
        pass

    def __enter__(self) -> Arriving:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def bytes(self) -> int | None:
        self.asked += 1
        return self.asked * 10_000


def test_rates_are_told_a_few_times_a_second_of_the_case_whose_slice_has_ended() -> None:
    heard: list[tuple[dict[str, float], float]] = []
    live = Live(lambda rates, left_s: heard.append((dict(rates), left_s)))
    case = msgspec.structs.replace(PACED, message_bytes=MessageBytes(100, 100))
    other = msgspec.structs.replace(case, case_id="other")
    slices = Slices((0, 300 * MS, 600 * MS), 100 * MS, 15 * MS, gap_ns=50 * MS)
    later = Slices((150 * MS, 450 * MS, 750 * MS), 100 * MS, 15 * MS, gap_ns=50 * MS)
    clock = FakeClock()
    with (
        patch("tinygram_bench.runs.progress.live.Arrived", Arriving),
        live.watching([(case, slices, []), (other, later, [])], clock) as between,
    ):
        between(0)
        assert heard == []
        clock.now_s += 0.3
        between(1)
        clock.now_s += 0.1
        between(1)
        clock.now_s += 0.2
        between(0)
    assert [told for told, _ in heard] == [
        {"other": 1000.0},
        {"other": 1000.0, PACED.case_id: 500.0},
    ]
    assert [round(left_s, 6) for _, left_s in heard] == [0.6, 0.3]


def test_what_runs_at_the_same_time_takes_its_time_once() -> None:
    heard: list[float] = []
    live = Live(lambda _rates, left_s: heard.append(left_s))
    back = msgspec.structs.replace(PACED, case_id="back")
    slices = Slices((0, 200 * MS), 100 * MS, 15 * MS, gap_ns=50 * MS)
    clock = FakeClock()
    with (
        patch("tinygram_bench.runs.progress.live.Arrived", Arriving),
        live.watching([(PACED, slices, []), (back, slices, [])], clock) as between,
    ):
        between(0)
        clock.now_s += 0.3
        between(1)
    assert [round(left_s, 6) for left_s in heard] == [0.15]


def test_no_rate_is_made_of_the_bytes_of_records() -> None:
    heard: list[dict[str, float]] = []
    live = Live(lambda rates, _left_s: heard.append(dict(rates)))
    over_tls = msgspec.structs.replace(
        PACED, parameters=msgspec.structs.replace(PACED.parameters, tls=True)
    )
    clock = FakeClock()
    with (
        patch("tinygram_bench.runs.progress.live.Arrived", Arriving),
        live.watching([(over_tls, Slices((0,), 100 * MS, 0), [])], clock) as between,
    ):
        clock.now_s += 0.3
        between(0)
    assert heard == [{}]


def test_where_nobody_watches_nothing_is_asked() -> None:
    with (
        patch("tinygram_bench.runs.progress.live.Arrived", side_effect=AssertionError),
        Live().watching([(PACED, Slices((0,), MS, 0), [1])]) as between,
    ):
        between(0)


def test_what_is_told_while_cases_run() -> None:
    stream, clock = FakeStream(terminal=True), FakeClock()
    stolen = iter([CpuTime(0, 0), CpuTime(5, 1000), CpuTime(10, 2000), CpuTime(15, 3000)])
    with Progress(4, stream=stream, clock=clock, read_cpu_time=lambda: next(stolen)) as progress:
        progress.cases_started([FLAT_OUT, PACED], 1, 2)
        clock.now_s += 10
        progress.goes_on({FLAT_OUT.case_id: 204_000.0}, 30.0)
        progress.run_finished(40, FLAT_OUT, run_of(FLAT_OUT))
    told = stream.getvalue().split(ERASE)[2]
    assert told.splitlines()[0].endswith(
        "run 1/4 · round 1/2 · 1 min 10 s left · 0.5 % of the host stolen"
    )
    assert "  loop/nagle    now 204,000/s" in told


def test_only_who_sees_a_terminal_is_told_between_slices() -> None:
    watching = [
        Progress(1, stream=FakeStream(terminal=is_terminal), quiet=quiet).is_rewritten
        for is_terminal, quiet in ((True, False), (True, True), (False, False))
    ]
    assert watching == [True, False, False]
