"""Sides of a speed bench that take turns: what a slice cost, and that nobody else acts in it."""

from __future__ import annotations

import shutil
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from library.baton import Took
from library.ends import FLAT_OUT, OLDER_FOLDER, PACED, Exchanged, Kind, Notes, Side
from library.sides.sending import OLDER
from library.speed import GROUPS, Group
from library.turns import Costs, cost_of, ratio_of, rounds

from library import ends, turns
from tinygram_bench.processes.workers import RunError

MS = 1_000_000


def notes_of(*reads: tuple[int, int]) -> Notes:
    """Reads as a receiver notes them: messages so far, and when, in ns."""
    return Notes(b"".join(struct.pack("<QQ", messages * 100, at_ns) for messages, at_ns in reads))


def turn_of(first: int, count: int, start_ns: int = 0) -> Exchanged:
    return Exchanged(first, count, Took(start_ns, 0))


def test_a_message_flat_out_costs_what_lies_between_two_reads_in_the_middle_of_a_turn() -> None:
    """Neither how the turn begins nor what comes late at its end is in it."""
    reads = [(1_000, 1), (1_010, 500), (1_020, 600), (1_050, 900), (1_090, 1_300), (1_100, 9_999)]
    assert FLAT_OUT.cost_ns is not None
    assert FLAT_OUT.cost_ns(notes_of(*reads), turn_of(1_000, 100)) == (1_300 - 600) / 70


def test_what_a_turn_cost_that_came_in_one_read_is_not_known() -> None:
    assert FLAT_OUT.cost_ns is not None
    assert FLAT_OUT.cost_ns(notes_of((1_000, 1), (1_100, 2)), turn_of(1_000, 100)) is None


def test_a_paced_message_is_late_by_what_its_read_is_after_its_due_time() -> None:
    """Those that settle, three of twenty, are left out: they are late by 9 ms."""
    latencies_ns = [9 * MS] * 3 + [100 + number for number in range(17)]
    due_ns = [5_000 + (number + 1) * MS for number in range(20)]
    late = zip(due_ns, latencies_ns, strict=True)
    reads = [(7 + number + 1, due + latency) for number, (due, latency) in enumerate(late)]
    assert PACED.cost_ns is not None
    assert PACED.cost_ns(notes_of(*reads), turn_of(7, 20, 5_000)) == 108


def test_a_ratio_is_of_slices_of_one_cycle() -> None:
    """The host was ten times slower in other cycles of each round: both sides had it.

    A slice of which nothing is known takes its pair along.
    """
    measured: list[Costs] = [
        {"ours": [1.0, 10.0, 1.0, 9.0, 9.0], "base": [2.0, 20.0, 2.0, None, None]},
        {"ours": [10.0, 10.0, 1.0, None, 10.0], "base": [20.0, 20.0, 2.0, 9.0, 20.0]},
    ]
    ratio = ratio_of(measured, "base", "ours")
    assert (ratio.low, ratio.median, ratio.high) == (2, 2, 2)
    assert cost_of(measured, "ours").high == 10
    assert cost_of(measured, "base").low == 2


class Timed:
    """Stands for a side whose messages take a known time."""

    def __init__(self, kind: Kind, message_ns: int) -> None:
        self.kind = kind
        self.message_ns = message_ns

    def turn(self, count: int) -> int:
        assert count % self.kind.step == 0
        return count * self.message_ns


@pytest.mark.parametrize(
    ("kind", "message_ns", "count"),
    [(FLAT_OUT, 100, 200_000), (FLAT_OUT, 3_000, 6_656), (PACED, MS, 24), (PACED, 10 * MS, 24)],
)
def test_a_slice_has_the_messages_of_20_ms_and_no_fewer_than_a_median_needs(
    kind: Kind, message_ns: int, count: int
) -> None:
    side: Side = Timed(kind, message_ns)  # type: ignore[assignment]
    assert turns._calibrated(side) == count


def names(group: Group) -> str:
    return next(iter(group.sides.values()))


@pytest.mark.parametrize("group", GROUPS, ids=names)
def test_every_side_takes_turns(group: Group) -> None:
    if group.kind is ends.TLS and shutil.which("openssl") is None:
        pytest.skip("openssl, which makes certificates, is missing")
    if OLDER in names(group).split() and not OLDER_FOLDER.exists():
        pytest.skip("the older uvloop is missing: make .venv/.stamps/older-uvloop")
    sides = {name: (words, group.kind) for name, words in group.sides.items()}
    (costs,) = rounds(sides, 1, 2)
    assert set(costs) == set(group.sides)
    for cost in costs.values():
        assert len(cost) == 2
        assert all(each is None or each > 0 for each in cost)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def up(stack: ExitStack, words: str) -> Side:
    side = Side(stack, words, FLAT_OUT)
    side.start()
    side.wait_ready()
    return side


@pytest.mark.parametrize(
    "words", ["flat_out asyncio tinygram", "flat_out uvloop tinygram", "plain_loop tinygram"]
)
def test_a_side_uses_no_cpu_time_while_another_has_its_turn(stack: ExitStack, words: str) -> None:
    side, other = up(stack, words), up(stack, "plain_loop join-100us")
    side.turn(6_400)
    before_ns, turns_began_s = used_ns(side), time.monotonic()
    while time.monotonic() < turns_began_s + 0.2:
        other.turn(64_000)
    assert used_ns(side) - before_ns < MS


def used_ns(side: Side) -> int:
    """The CPU time of the process that has the turns."""
    return side._near.cpu_ns()


def test_a_byte_that_nobody_accounts_for_is_an_error(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ends, "WARM_UP", 1_023)
    side = up(stack, "plain_loop join-10us")
    side.turn(64_000)
    with pytest.raises(RunError, match="of the 6502300 bytes"):
        side.costs_ns(1)
