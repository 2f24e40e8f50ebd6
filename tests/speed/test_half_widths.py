"""Half widths by figure are made of the table of all loads, and tell what got no verdict."""

from __future__ import annotations

from datetime import date

from published.stored import Row, Table
from turns.summing import summed_up


def _row(
    load: str,
    figure: str,
    half_width: str,
    planted: str = "",
    found: str = "",
    beside_itself: str = "1.000 (0.99–1.01), not shown",
) -> Row:
    return Row(
        load,
        {
            "figure": figure,
            "beside itself": beside_itself,
            "half width": half_width,
            "planted": planted,
            "found as": found,
        },
    )


def _table(*rows: Row) -> Table:
    return Table("python -m turns.targets", "here", date(2026, 11, 30), "load", [], [*rows])


def test_the_widest_half_width_of_a_line_decides_whether_it_is_reached() -> None:
    (line,) = summed_up(
        _table(
            _row("loop flat out", "throughput_per_s", "0.7%"),
            _row("native/tick flat out", "throughput_per_s", "2.1%"),
            _row("loop flat out, rtt=1ms", "throughput_per_s", "30.0%"),
        )
    ).rows[:1]
    assert line.row == "throughput flat out, native too"
    assert (line.figures["half_width"], line.is_reached) == ("0.7–2.1 %", False)


def test_a_half_width_of_a_comparison_without_a_verdict_does_not_say_that_it_is_reached() -> None:
    barred = "1.005 (0.98–1.01), cannot say: link_stopped"
    for half_width, is_reached in (("1.4%", None), ("5.4%", False)):
        row = _row("rr", "calls_per_s", half_width, beside_itself=barred)
        assert summed_up(_table(row)).rows[0].is_reached is is_reached


def test_what_is_shown_is_counted_of_what_got_a_verdict() -> None:
    (line,) = summed_up(
        _table(
            _row(
                "loop 10,000/s",
                "latency_p50_us",
                "1.0%",
                "3% (0.5 µs)",
                "1.031 (1.02–1.04), shown; 1.01 (0.99–1.02), not shown",
            ),
            _row(
                "uvloop 10,000/s",
                "latency_p50_us",
                "1.5%",
                "3% (0.9 µs)",
                "1.03 (1.0–1.1), cannot say: slices_entered; 1.03 (1.02–1.05), shown",
            ),
        )
    ).rows
    assert line.figures["found"] == "2 of 3; 1 got none"
    assert (line.figures["planted"], line.is_reached) == ("3 %", True)


def test_where_no_comparison_got_a_verdict_nothing_is_counted() -> None:
    found = "1.04 (1.0–1.1), cannot say: fell_behind; 1.03 (0.9–1.1), cannot say: fell_behind"
    (line,) = summed_up(
        _table(_row("loop 10,000/s", "latency_p50_us", "4.4%", "3% (0.5 µs)", found))
    ).rows
    assert line.figures["found"] == "none of 2 got one"


def test_a_figure_of_which_nothing_was_asked_is_neither_reached_nor_missed() -> None:
    (line,) = summed_up(_table(_row("rr", "call_p50_us", "0.6%"))).rows
    assert (line.asked, line.is_reached) == (None, None)


def test_what_has_no_ratio_is_not_counted_as_shown() -> None:
    (line,) = summed_up(
        _table(_row("loop 10,000/s", "latency_p50_us", "1.0%", "3% (0.5 µs)", "no ratio; no ratio"))
    ).rows
    assert line.figures["found"] == "none of 2 got one"
