"""Rows of many threads on one connection: what is reached, missed, or cannot be said."""

from __future__ import annotations

import pytest
from published import stored

from library.threads import Row
from tinygram_bench.model.result import Figure


def figure(median: float, low: float, high: float) -> Figure:
    return Figure(median=median, low=low, high=high)


@pytest.mark.parametrize(
    ("found", "is_reached"),
    [
        (figure(0.60, 0.50, 0.70), True),
        (figure(0.60, 0.49, 0.70), None),
        (figure(0.45, 0.40, 0.50), None),
        (figure(0.45, 0.40, 0.49), False),
    ],
)
def test_a_target_inside_the_interval_is_neither_reached_nor_missed(
    found: Figure, is_reached: bool | None
) -> None:
    row = Row("throughput", "ours", "base", "throughput_per_s", 0.5)
    assert row.is_reached(found) is is_reached


@pytest.mark.parametrize(
    ("found", "is_reached"),
    [
        (figure(1.10, 1.00, 1.20), True),
        (figure(1.10, 1.00, 1.21), None),
        (figure(1.30, 1.20, 1.40), None),
        (figure(1.30, 1.21, 1.40), False),
    ],
)
def test_so_it_is_where_at_most_so_much_was_asked(found: Figure, is_reached: bool | None) -> None:
    row = Row("p99", "ours", "base", "latency_p99_us", 1.2)
    assert row.is_reached(found) is is_reached


def test_where_nothing_may_be_lost_the_upper_end_decides() -> None:
    row = Row("idle", "ours", "base", "latency_p50_us", 1.05, by_interval=True)
    assert row.is_reached(figure(1.0, 0.9, 1.05)) is True
    assert row.is_reached(figure(1.0, 0.9, 1.06)) is False


def test_the_stored_rows_say_so() -> None:
    for each in stored.read(stored.ROWS / "speed.json").tables["threads"].rows:
        ratio, asked = each.figures["ratio"], each.asked
        assert isinstance(ratio, stored.Figure)
        assert ratio.low is not None
        assert ratio.high is not None
        assert asked is not None
        aim = asked.at_least if asked.at_most is None else asked.at_most
        assert aim is not None
        name = "latency_us" if asked.at_least is None else "throughput_per_s"
        row = Row("", "", "", name, aim, by_interval=each.row.startswith("idle"))
        found = figure(ratio.median, ratio.low, ratio.high)
        assert row.is_reached(found) is each.is_reached, each.row
