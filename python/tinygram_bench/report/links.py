"""The links of a result: what was asked, how they were made, and how well they kept their times."""

from __future__ import annotations

from tinygram_bench.model.result import Result
from tinygram_bench.report.formats import number
from tinygram_bench.report.layout import Column, Row, Table
from tinygram_bench.statistics.links import LinkSummary, links_of

_TITLE = "Links: what was asked, and what they did over all runs (times in µs)"
_COLUMNS = (
    Column("link"),
    Column("backend"),
    Column("RTT"),
    Column("ping-pong\nasked", 1),
    Column("ping-pong\nfound", 1),
    Column("late\np50", 6),
    Column("late\np99"),
    Column("late\nmax", 5),
    Column("runs\namiss"),
    Column("relay's\nCPU µs", 7),
    Column("packets\nlost", 4),
    Column("queue\nfull", 3),
    Column("not\nasked", 2),
    Column("MTU\nB", 8),
    Column("device\nqueue", 9),
)
_NOTES = (
    "ping-pong: a program's, when the link was up, without jitter and loss, with an RTT of 10 ms "
    "at most and 10 Mbit/s at least; late: after the link's own time; amiss: the link was late, "
    "slow or fast: half of a case's runs leave no verdict; relay's CPU: for each packet, in no "
    "other column of CPU, with the receive work of both hosts' kernels; not asked: packets dropped "
    "by a device, the relay or its socket; offload: TCP's segments stay together on their way.",
)


def link_tables(result: Result) -> tuple[Table, ...]:
    """One table; none where no run was over a link."""
    links = links_of(result)
    if not links:
        return ()
    meanings = tuple(
        f"{link.name}: {link.facts.meaning}" for link in links if link.facts.meaning != link.name
    )
    return (Table(_TITLE, _COLUMNS, tuple(map(_row, links)), (*meanings, *_NOTES)),)


def _row(link: LinkSummary) -> Row:
    facts = link.facts
    cells = (
        link.name,
        f"{facts.backend} ({facts.device}{', offload' if facts.has_offload else ''})",
        _us(facts.rtt_ns),
        _us(facts.asked_rtt_ns),
        number(link.found_rtt_us),
        number(link.late_p50_us),
        number(link.late_p99_us),
        number(link.late_max_us),
        f"{link.amiss_runs} of {link.runs}",
        number(link.cpu_us_per_packet),
        f"{link.lost_packets:,}",
        f"{link.full_packets:,}",
        f"{link.unasked_packets:,}",
        str(facts.mtu_bytes),
        f"{facts.device_queue_packets:,}",
    )
    return Row(cells)


def _us(duration_ns: int | None) -> str:
    return number(None if duration_ns is None else duration_ns / 1e3)
