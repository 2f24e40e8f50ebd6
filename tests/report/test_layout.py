"""Tables give way column by column, and say which."""

from __future__ import annotations

import pytest

from tinygram_bench.model.result import Figure
from tinygram_bench.report.numbers import UNKNOWN, interval, number, rate, ratio
from tinygram_bench.report.table import Column, Row, Table, fitted

TABLE = Table(
    "a table",
    (Column("case"), Column("kept"), Column("later\ngone", 1), Column("first gone", 2)),
    (Row(("loop/nodelay", "1", "2", "3")),),
)


def test_what_fits_is_left_alone() -> None:
    assert TABLE.widths == (12, 4, 5, 10)
    assert fitted(TABLE, width=31 + 3, gap=1) is TABLE


def test_columns_go_in_their_order_and_are_named() -> None:
    once = fitted(TABLE, width=33, gap=1)
    assert [row.cells for row in once.rows] == [("loop/nodelay", "1", "2")]
    assert once.notes == ("left out in 33 columns: first gone",)
    twice = fitted(TABLE, width=22, gap=1)
    assert [row.cells for row in twice.rows] == [("loop/nodelay", "1")]
    assert twice.notes == ("left out in 22 columns: first gone, later gone",)


def test_what_matters_most_is_never_left_out() -> None:
    assert fitted(TABLE, width=1, gap=1).rows[0].cells == ("loop/nodelay", "1")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, UNKNOWN),
        (0, "0"),
        (0.00431, "0.0043"),
        (-4.31e-5, "-0.000043"),
        (0.25, "0.25"),
        (4.049, "4.05"),
        (9.999, "10.0"),
        (52.14, "52.1"),
        (99.96, "100"),
        (43991.2, "43,991"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, UNKNOWN),
        (950, "950"),
        (999.97, "1.000k"),
        (57983, "57.98k"),
        (224172, "224.2k"),
        (999960, "1.000M"),
        (14100000, "14.10M"),
        (9999600, "10.00M"),
    ],
)
def test_rates(value: float | None, text: str) -> None:
    assert rate(value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (55.4, 70.2, "55–71"),
        (5.31, 5.45, "5.3–5.5"),
        (9.87, 10.1, "9.8–11"),
        (9.95, 9.95, "9.9–10"),
        (1.1, 1.1, "1.1–1.1"),
        (1002.5, 43991.2, "1,002–43,992"),
    ],
)
def test_intervals_are_rounded_outwards(low: float, high: float, text: str) -> None:
    assert interval(Figure(median=low, low=low, high=high)) == text


@pytest.mark.parametrize(("value", "text"), [(0.998, "0.998"), (1.004, "1.004"), (4.1, "4.10")])
def test_ratios_near_one_have_a_third_decimal(value: float, text: str) -> None:
    assert ratio(value) == text
