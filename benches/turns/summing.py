"""What `turns.targets` found, by figure: half widths, and how much of what was planted is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace
from published.stored import Asked, Column, Row, Table


@dataclass(frozen=True)
class _Line:
    """The loads of a line are those whose whole name the pattern matches.

    `asked`: the widest half of an interval that was aimed at, in per cent.
    """

    name: str
    figure: str
    loads: str
    asked: float | None = None


_LINES = (
    _Line("p50 at 10,000/s, four runtimes", "latency_p50_us", r"\w+ 10,000/s", 1.5),
    _Line("p50 at 1,000/s, four runtimes", "latency_p50_us", r"\w+ 1,000/s", 1.5),
    _Line("p99 at 10,000/s", "latency_p99_us", r"\w+ 10,000/s", 10),
    _Line("CPU time a message at 10,000/s", "cpu_s_per_million", r"\w+ 10,000/s", 2),
    _Line("CPU time a message at 1,000/s", "cpu_s_per_million", r"\w+ 1,000/s", 2),
    _Line("CPU time a message flat out, native too", "cpu_s_per_million", r"\S+ flat out", 2),
    _Line("throughput flat out, native too", "throughput_per_s", r"\S+ flat out", 2),
    _Line("calls a second of `rr`", "calls_per_s", "rr", 2),
    _Line("messages a second of `echo`", "throughput_per_s", "echo", 2),
    _Line("median call of `rr`", "call_p50_us", "rr"),
    _Line("median round trip of `echo`", "round_trip_p50_us", "echo"),
    _Line("CPU time of a call", "cpu_us_per_call", "rr"),
    _Line("CPU time of a message of `echo`", "cpu_s_per_million", "echo"),
    _Line("over 1 ms, 1,000/s: p50", "latency_p50_us", r"loop 1,000/s, rtt=1ms", 2),
    _Line("over 1 ms, 1,000/s: CPU time", "cpu_s_per_million", r"loop 1,000/s, rtt=1ms", 2),
    _Line("over 1 ms flat out: throughput", "throughput_per_s", r"loop flat out, rtt=1ms", 2),
    _Line("over 1 ms flat out: CPU time", "cpu_s_per_million", r"loop flat out, rtt=1ms", 2),
    _Line(
        "over 1 ms with a line of 100 Mbit/s, flat out: throughput",
        "throughput_per_s",
        r"loop flat out, rtt=1ms,band\S+",
        2,
    ),
    _Line(
        "over 1 ms with a line of 100 Mbit/s, flat out: CPU time",
        "cpu_s_per_million",
        r"loop flat out, rtt=1ms,band\S+",
        2,
    ),
)
_COLUMNS = [
    Column("half width", "half_width", is_text=True),
    Column("planted", "planted", is_text=True),
    Column("shown, of the comparisons that got a verdict", "found", is_text=True),
]


def summed_up(table: Table) -> Table:
    """The same by figure, with the date, the host and the code of the table."""
    return replace(table, first="figure", columns=_COLUMNS, rows=list(_rows(table)))


def _rows(table: Table) -> Iterator[Row]:
    for line in _LINES:
        found = [
            {name: str(cell) for name, cell in row.figures.items()}
            for row in table.rows
            if row.figures["figure"] == line.figure and re.fullmatch(line.loads, row.row)
        ]
        if not found:
            continue
        widths = sorted(float(each["half width"].rstrip("%")) for each in found)
        row = Row(
            line.name,
            {
                "half_width": _between(widths),
                "planted": _planted(found),
                "found": _shown(found),
            },
        )
        if line.asked is not None:
            asked = Asked(at_most=line.asked, unit="%")
            row = replace(row, asked=asked, is_reached=_is_reached(line.asked, widths, found))
        yield row


def _is_reached(
    asked: float, widths: Sequence[float], found: Sequence[Mapping[str, str]]
) -> bool | None:
    """Whether no half width is wider; None where some are of comparisons without a verdict."""
    if widths[-1] > asked:
        return False
    return None if any("cannot say" in each["beside itself"] for each in found) else True


def _between(widths: list[float]) -> str:
    ends = sorted({f"{widths[0]:.1f}", f"{widths[-1]:.1f}"}, key=float)
    return f"{'–'.join(ends)} %"


def _planted(found: list[dict[str, str]]) -> str:
    """What was planted, without how long that is, which differs from load to load."""
    shares = {each["planted"].partition(" (")[0].replace("%", " %") for each in found}
    return " or ".join(sorted(shares - {""}))


def _shown(found: list[dict[str, str]]) -> str:
    """How many of what was planted are shown: each is compared with the case and its double."""
    comparisons = [said for each in found for said in each["found as"].split("; ") if said]
    judged = [said for said in comparisons if "cannot say" not in said and said != "no ratio"]
    if not comparisons:
        return ""
    if not judged:
        return f"none of {len(comparisons)} got one"
    shown = sum(not said.endswith("not shown") for said in judged)
    none = len(comparisons) - len(judged)
    return f"{shown} of {len(judged)}" + (f"; {none} got none" if none else "")
