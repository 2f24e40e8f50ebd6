"""How the pacer waits: it takes no core from who sends, and never is early."""

from __future__ import annotations

import asyncio
import os
from typing import Any, cast

import msgspec
import pytest

import tinygram
from tinygram_bench._native import Pacer
from tinygram_bench.loads.async_source import AsyncSource
from tinygram_bench.loads.source import Source, message_pool
from tinygram_bench.ways import runtimes
from tinygram_bench.ways.event_loops import loop_factory
from tinygram_bench.workloads.stream.order import Order, Pace
from tinygram_bench.workloads.stream.sending.pacing import spin_of


def order(**changes: Any) -> Order:
    return msgspec.structs.replace(
        Order(
            *(1, "loop", "stdlib", tinygram.nodelay, 1, 1, 9, 1, 0, None, "cubic", None),
        ),
        **changes,
    )


@pytest.mark.parametrize("runtime", sorted({each.name for each in runtimes.RUNTIMES}))
def test_a_core_on_which_others_send_is_left_to_them(runtime: str) -> None:
    expected = "yielding" if runtime in ("threads", "processes") else "alone"
    assert spin_of(order(runtime=runtime)) == expected


def test_beside_a_thread_that_never_rests_the_pacer_sleeps() -> None:
    assert spin_of(order(has_busy_thread=True)) == "never"


def test_where_all_are_to_sleep_alike_it_sleeps_and_notes_how_late_it_was() -> None:
    pace = Pace(1_000.0, "constant", 1, 1_000_000, 1, sleeps=True)
    assert spin_of(order(runtime="threads", pace=pace)) == "noted"


def test_an_unknown_way_to_spin_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"unknown spin .wildly.: alone, yielding, never or noted"):
        Pacer(1_000.0, "constant", 1, 1_000_000, 1, spin="wildly")


class TwoRings:
    """A pacer whose timer rings twice for its one message, as where a whole wait is spun."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()
        self.armed, self.rings = 0, 0

    @property
    def is_finished(self) -> bool:
        return self.rings == 2

    def start(self, _start_ns: int) -> None: ...

    def take_due(self) -> tuple[int, int]:
        return (self.rings // 2, self.rings // 2)

    def timer_fd(self) -> int:
        return self.read_fd

    def arm(self, _spins: bool) -> bool:
        self.armed += 1
        os.write(self.write_fd, b".")
        return True

    def on_timer(self) -> tuple[int, int]:
        os.read(self.read_fd, 1)
        self.rings += 1
        if self.rings == 1:
            os.write(self.write_fd, b".")
            return (0, 0)
        return (0, 1)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_timer_that_will_ring_again_is_waited_for_and_not_set_anew(loop: str) -> None:
    pacer = TwoRings()

    async def send() -> list[int]:
        made = cast(Pacer, pacer)
        source = AsyncSource(Source(message_pool(1, 1, 9), 0, 1, made, lambda: True, lambda: None))
        bursts = []
        while (burst := await source.next_burst()) is not None:
            bursts.append(len(burst))
        return bursts

    with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
        assert runner.run(send()) == [1]
    os.close(pacer.read_fd)
    os.close(pacer.write_fd)
    assert (pacer.armed, pacer.rings) == (1, 2)
