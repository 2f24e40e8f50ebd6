"""Another program may reach the receiver first: it is turned away, and the sender is measured."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

import pytest
from tests.stream.plans import planned

from tinygram.bench.links import Link
from tinygram.bench.result import Case
from tinygram.bench.workloads.stream.order import Order
from tinygram.bench.workloads.stream.run import StreamBench, stream_bench


@dataclass(frozen=True)
class Visited(StreamBench):
    """A bench to whose receiver strangers connect before its sender is started."""

    strangers: list[socket.socket] = field(default_factory=list)

    def order(self, case: Case, round: int, port: int, link: Link) -> Order:
        with link.near.entered():
            self.strangers.extend(socket.create_connection(("127.0.0.1", port)) for _ in "12")
        self.strangers[0].sendall(b"GET / HTTP/1.0\r\n\r\n")
        return super().order(case, round, port, link)


@pytest.mark.parametrize("way", ["loop/tinygram/tick", "processes/stdlib/nodelay"])
def test_strangers_are_turned_away_counted_and_told(way: str) -> None:
    [case] = planned(way).cases
    with stream_bench(1) as bench, ExitStack() as opened:
        visited = Visited(bench.seed, bench.counting)
        run = visited.run_case(case, 0)
        for stranger in visited.strangers:
            opened.enter_context(stranger)
            # What was sent and not read makes the end a reset.
            with suppress(ConnectionResetError):
                assert stranger.recv(1) == b""
    assert run.failure is None
    assert run.counters["strangers"] == 2
    assert run.counters["messages"] == 1_000
    assert "strangers" in [warning.code for warning in run.warnings]


def test_without_strangers_there_is_nothing_to_tell() -> None:
    [case] = planned("loop/tinygram/tick").cases
    with stream_bench(1) as bench:
        run = bench.run_case(case, 0)
    assert run.failure is None
    assert run.counters["strangers"] == 0
    assert "strangers" not in [warning.code for warning in run.warnings]
