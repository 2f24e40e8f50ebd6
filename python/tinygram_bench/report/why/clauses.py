"""The clauses of a reason: CPU time, time until the arrival, and evidence."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tinygram_bench.report.numbers import number
from tinygram_bench.report.prose import joined
from tinygram_bench.statistics.figures.words import in_words
from tinygram_bench.statistics.verdicts.why.account import Account
from tinygram_bench.statistics.verdicts.why.pairs import Why
from tinygram_bench.statistics.workloads import WORKLOADS

_LEAST_SHARE = 0.03
"""Parts that are smaller than this share of the difference are not named."""
_ALIKE = 1.05
"""Counts are taken as equal where neither is this many times the other."""
_MOST_PARTS = 0.9
"""A difference of which this share is explained counts as explained."""
_WITHIN_NOISE = ", which the rounds do not tell from nothing"
_LEAST_COUNT = 1.0
"""Events per thousand messages or calls; rarer events are not told."""


class _Subject(Struct, frozen=True):
    """The name of a part, and whether its verb is in the plural."""

    text: str
    is_plural: bool = False

    def does(self, us: float) -> str:
        """`saves` or `costs`."""
        verb = "save" if us < 0 else "cost"
        return f"{self.text} {verb}" + ("" if self.is_plural else "s")


_OF_ARRIVAL = {
    "hold": _Subject("holding"),
    "pacer": _Subject("the pacer"),
    "unsent": _Subject("waiting for an acknowledgement before sending"),
    "unread": _Subject("waiting to be read"),
    "start_delay": _Subject("beginning calls after they were due"),
    "rest": _Subject("waiting for the rest of a request"),
    "callers": _Subject("the callers' CPU time"),
    "server": _Subject("the server's CPU time"),
    "callers_core": _Subject("the callers' wait for a core when they wake up"),
    "server_core": _Subject("the server's wait for a core when it wakes up"),
    "publication_delay": _Subject("beginning publications after they were due"),
    "handing_over": _Subject("handing publications over to all subscribers"),
    "connect": _Subject("connecting"),
    "setup": _Subject("the write of the setup"),
    "first_trip": _Subject("the first round trip"),
    "next_trips": _Subject("the other round trips", True),
}
_WHOSE_CPU = {
    "stream": "the sender",
    "echo": "the server",
    "fanout": "the publisher",
    "sizes": "the client",
}
"""Workload → whose CPU time an account without parts is of."""


def cpu_clause(why: Why) -> str | None:
    """`39 times fewer writes save 2.9 of 3.1 µs of CPU time a message; unexplained 0.1 µs (3 %)`"""
    if why.cpu is None:
        return None
    if not why.cpu.parts and not why.cpu.vague:
        us = why.cpu.difference.median
        return (
            f"{_WHOSE_CPU[why.case.workload]} takes {number(abs(us))} µs of CPU time a {_unit(why)}"
            f" {'less' if us < 0 else 'more'}, which was not taken apart"
        )
    subjects = {
        "writes": _writes(why),
        "waits": _Subject(
            f"{_counted(why.baseline_evidence.waits, why.case_evidence.waits)}waits", True
        ),
        "program": _Subject("the program between them"),
        "timing": _Subject("the timing of these"),
        "client": _Subject("the client"),
        "server": _Subject("the server"),
    }
    return _accounted(why.cpu, subjects, f"of CPU time a {_unit(why)}")


def arrival_clause(why: Why) -> str | None:
    """`holding costs 23 of 25 µs of mean latency`, with waits in the kernel where known."""
    if why.arrival is None:
        return None
    figure = in_words(WORKLOADS[why.case.workload].arrival)
    return _accounted(why.arrival, _OF_ARRIVAL, f"of {figure}")


def evidence_clause(why: Why) -> str | None:
    """Evidence of the case and the baseline, as far as it was counted."""
    before, after = why.baseline_evidence, why.case_evidence
    shares = (
        ("of the time was a wait for an acknowledgement", after.unsent_time, before.unsent_time),
        (
            "of the samples found bytes that were not sent yet",
            after.unsent_samples,
            before.unsent_samples,
        ),
        ("of the segments left with nothing unacknowledged", after.alone, before.alone),
        (
            "of them left within 0.1 ms after a packet came in",
            after.after_arrival,
            before.after_arrival,
        ),
    )
    one = _unit(why)
    # Where CPU time is accounted for, its clause has what was written.
    is_told = why.cpu is not None and "writes" in why.cpu.parts
    written = (
        (f"writes a {one}", after.writes, before.writes),
        (f"segments with data a {one}", after.segments, before.segments),
    )
    counts = (
        (f"delayed acknowledgements a thousand {one}s", after.delayed_acks, before.delayed_acks),
        # How often threads are put on a core depends on what else the host does, as times do.
        *(
            [(f"context switches a thousand {one}s", after.switches, before.switches)]
            if why.verdicts
            else []
        ),
    )
    said = [
        f"{_percent(first)} {what} instead of {_percent(second)}"
        for what, first, second in shares
        if first is not None and second is not None and max(first, second) > 0
    ]
    said += [
        f"{number(first)} {what} instead of {number(second)}"
        for what, first, second in (() if is_told else written)
        if first is not None and second is not None and _differ(first, second)
    ]
    said += [
        f"{number(first)} {what} instead of {number(second)}"
        for what, first, second in counts
        if first is not None and second is not None and _differ(first, second, _LEAST_COUNT)
    ]
    return joined(said) if said else None


def _differ(first: float, second: float, least: float = 0.0) -> bool:
    """Whether one count is so much more than the other, and than `least`, that it is told."""
    return max(first, second) >= least and max(first, second) > _ALIKE * min(first, second)


def _accounted(account: Account, subjects: Mapping[str, _Subject], what: str) -> str | None:
    """The parts, the largest first; the first one along the whole difference names the whole.

    None where no part is worth a word. Parts that miss the difference by more than all of it say
    nothing of it, and are not told.
    """
    whole = account.difference.median
    parts = sorted(
        ((part.difference.median, name) for name, part in account.parts.items()),
        key=lambda part: -abs(part[0]),
    )
    named = [part for part in parts if abs(part[0]) >= _LEAST_SHARE * abs(whole)]
    if not named:
        return _unaccounted(account, what) if account.vague else None
    if not account.is_accounted_for:
        return _unaccounted(account, what)
    along = [part for part in named if part[0] * whole > 0]
    against = [part for part in named if part[0] * whole <= 0]
    said = []
    for at, (us, name) in enumerate((*along, *against)):
        of_whole = f" of {number(abs(whole))}" if at == 0 and along else ""
        unit = f" µs {what}" if at == 0 else " µs"
        said.append(f"{subjects[name].does(us)} {number(abs(us))}{of_whole}{unit}")
    rest = account.unexplained.median
    left = (
        f"{number(abs(rest))} of {number(abs(whole))} µs"
        if not along
        else f"{number(abs(rest))} µs"
    )
    share = f"{abs(rest / whole):.0%}"
    # A share of a small difference says little; the rounds say more.
    noise = "" if account.is_rest_shown or account.explained_share >= _MOST_PARTS else _WITHIN_NOISE
    said.append(f"{left} ({share}) unexplained{noise}")
    return ", ".join(said)


def _unaccounted(account: Account, what: str) -> str:
    """`1.20 µs of time per call more cannot be accounted for`, and why."""
    whole = account.difference.median
    reason = (
        "its parts differ by more than that from round to round"
        if account.vague or not account.is_rest_shown
        else "the parts that were measured miss it by even more"
    )
    more = "less" if whole < 0 else "more"
    return f"{number(abs(whole))} µs {what} {more} cannot be accounted for: {reason}"


def _writes(why: Why) -> _Subject:
    """`39 times fewer writes`; equally many writes may differ in the segments that they make."""
    before, after = why.baseline_evidence, why.case_evidence
    counted = _counted(before.writes, after.writes)
    if counted or not before.segments or not after.segments:
        return _Subject(f"{counted}writes", True)
    segments = _counted(before.segments, after.segments)
    return _Subject(f"as many writes in {segments}segments" if segments else "as many writes", True)


def _counted(before: float | None, after: float | None) -> str:
    """`39 times fewer `; empty where the counts are about equal, or not known."""
    if not before or not after:
        return ""
    times = before / after
    if times >= _ALIKE:
        return f"{number(times)} times fewer "
    return f"{number(1 / times)} times as many " if times <= 1 / _ALIKE else ""


def _percent(share: float) -> str:
    """A percentage, with enough digits that only 0 and 1 become 0 % and 100 %."""
    for digits in range(5):
        text = f"{share:.{digits}%}"
        if share in (0, 1) or float(text.rstrip("%")) not in (0, 100):
            return text
    return "nearly all" if share > 0.5 else "nearly none"


def _unit(why: Why) -> str:
    return WORKLOADS[why.case.workload].one
