"""Quantities on the command line: exact, with a unit where one could be mistaken."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import MessageBytes
from tinygram_bench.model.units import (
    format_bytes,
    format_duration_ns,
    parse_bytes,
    parse_count,
    parse_duration_ns,
    parse_message_bytes,
    parse_rate,
)


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("1ns", 1),
        ("10us", 10_000),
        ("10µs", 10_000),
        ("0.1us", 100),
        ("500ms", 500_000_000),
        ("2s", 2_000_000_000),
        ("1.5 s", 1_500_000_000),
        ("1min", 60_000_000_000),
        ("1h", 3_600_000_000_000),
    ],
)
def test_durations_become_nanoseconds(text: str, expected_ns: int) -> None:
    assert parse_duration_ns(text) == expected_ns


@given(st.integers(1, 10**19))
def test_a_formatted_duration_reads_back(duration_ns: int) -> None:
    assert parse_duration_ns(format_duration_ns(duration_ns)) == duration_ns


@given(st.integers(1, 10**6), st.sampled_from(["us", "ms", "s"]))
def test_equal_durations_have_one_text(number: int, unit: str) -> None:
    """`1000us` and `1ms` are the same case, so they must have the same name."""
    smaller = {"us": "ns", "ms": "us", "s": "ms"}[unit]
    one = format_duration_ns(parse_duration_ns(f"{number}{unit}"))
    assert one == format_duration_ns(parse_duration_ns(f"{number * 1000}{smaller}"))


def test_the_canonical_text_is_the_one_people_write() -> None:
    assert [format_duration_ns(ns) for ns in (10_000, 1_500, 60_000_000_000)] == [
        "10us",
        "1500ns",
        "60s",
    ]


def test_a_duration_without_unit_names_value_units_and_example() -> None:
    with pytest.raises(UsageError, match=r"'10' has no unit.*ns, us, ms, s, min, h.*10us"):
        parse_duration_ns("10")


@pytest.mark.parametrize(
    "text", ["", "us", "-1s", "0s", "0.0ms", "0.5ns", "10 parsecs", "1e3us", "nan s", "٣s", "1s2"]
)
def test_bad_durations_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError):
        parse_duration_ns(text)


@pytest.mark.parametrize(
    ("text", "expected_bytes"),
    [
        ("1", 1),
        ("100B", 100),
        ("1kB", 1000),
        ("256KiB", 262_144),
        ("1GiB", 1 << 30),
        ("1.5kB", 1500),
    ],
)
def test_sizes_become_bytes(text: str, expected_bytes: int) -> None:
    assert parse_bytes(text) == expected_bytes


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("100", 100, 100), ("1..500", 1, 500), ("64KiB", 65_536, 65_536), ("1kB..2kB", 1000, 2000)],
)
def test_message_sizes_are_one_size_or_a_range(text: str, low: int, high: int) -> None:
    assert parse_message_bytes(text) == MessageBytes(min=low, max=high)


@given(st.integers(1, 1 << 30), st.integers(1, 1 << 30))
def test_every_ordered_range_reads_back(one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert parse_message_bytes(f"{low}..{high}") == MessageBytes(min=low, max=high)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("0", "'0' is not a whole number of bytes above 0"),
        ("-1", "is not a size"),
        ("0..5", "in the sizes '0..5'"),
        ("0.5", "whole number of bytes"),
        ("500..1", "reversed: write the smaller first, 1-500"),
        ("1073741825", "above 1 GiB"),
        ("2GiB", "above 1 GiB"),
        ("1..2GiB", "above 1 GiB"),
        ("1..", "in the sizes '1..'"),
        ("..5", "in the sizes '..5'"),
        ("1...5", "in the sizes '1...5'"),
        ("64kib", "unknown unit 'kib'"),
        ("", "is not a size"),
    ],
)
def test_bad_sizes_name_the_fault(text: str, fault: str) -> None:
    with pytest.raises(UsageError, match=re.escape(fault)):
        parse_message_bytes(text)


@pytest.mark.parametrize(
    ("text", "expected_per_s"), [("1000", 1000.0), ("10k", 10_000.0), ("1.5M", 1.5e6), ("0.5", 0.5)]
)
def test_rates_are_messages_per_second(text: str, expected_per_s: float) -> None:
    assert parse_rate(text) == expected_per_s


@pytest.mark.parametrize("text", ["0", "-5", "nan", "inf", "1e3", "", "10gbit", "0.0k", "1T"])
def test_bad_rates_name_value_and_example(text: str) -> None:
    with pytest.raises(UsageError, match=rf"'{re.escape(text)}'.*for example 1000 or 10k"):
        parse_rate(text)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(1, "1B"), (1000, "1000B"), (4096, "4KiB"), (65_536, "64KiB"), (3 << 20, "3MiB"), (0, "0B")],
)
def test_sizes_are_written_in_the_largest_unit_that_leaves_a_whole_number(
    size_bytes: int, text: str
) -> None:
    assert format_bytes(size_bytes) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("200000", 200_000), ("200k", 200_000), ("1.5M", 1_500_000), ("2 G", 2 * 10**9)],
)
def test_counts_have_the_units_of_rates(text: str, expected: int) -> None:
    assert parse_count(text) == expected


@pytest.mark.parametrize("text", ["", "many", "1.5", "1kB", "0x10", "1e3", "--5"])
def test_bad_counts_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError):
        parse_count(text)


@pytest.mark.parametrize("text", ["1..500", "1-500", "1–500", "1–500 B", "1 - 500", "1B-0.5k"])
def test_a_range_is_read_as_people_and_our_tables_write_it(text: str) -> None:
    assert parse_message_bytes(text) == MessageBytes(1, 500)


@pytest.mark.parametrize(
    ("text", "expected_bytes"),
    [("64k", 64_000), ("64K", 64_000), ("64Ki", 65_536), ("1M", 10**6), ("1GiB", 1 << 30)],
)
def test_the_letter_b_may_be_left_out(text: str, expected_bytes: int) -> None:
    assert parse_bytes(text) == expected_bytes
