"""Sentences and their parts: names of loads, lists, and how sure a figure is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from tinygram_bench.model.result import Case, MessageBytes, Result, Verdict
from tinygram_bench.report.numbers import OF_TWO_MODES
from tinygram_bench.statistics.figures.intervals import confidence_of
from tinygram_bench.statistics.workloads.loads import Load, loads_of

MAX_NAMED = 3
_ASPECTS: Mapping[str, Callable[[Load], str]] = {
    "message_bytes": lambda load: f"{_nouns(load)[0]} of {_size(load.message_bytes)}",
    "link": lambda load: f"over {load.link}",
    "producers": lambda load: _count(load.producers, _nouns(load)[1]),
    "connections": lambda load: _count(load.connections, "connection"),
    "placement": lambda load: f"placement {load.placement}",
    "busy_thread": lambda load: "a busy thread beside" if load.busy_thread else "no busy thread",
    "tls": lambda load: "over TLS 1.3" if load.tls else "without TLS",
    "direction": lambda load: (
        "the far end sends" if load.direction == "reverse" else "the near end sends"
    ),
    "bidirectional": lambda load: (
        "both directions at once" if load.bidirectional else "one direction"
    ),
    "parameters": lambda load: ", ".join(f"{name} {value}" for name, value in load.parameters),
}
_PACING: Mapping[str, Callable[[Load], str]] = {
    "arrival": lambda load: f"arrival {load.arrival}",
    "burst": lambda load: f"bursts of {load.burst}",
}


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def listed(words: Sequence[str]) -> str:
    """`a, b, c and 2 more`: all of them, or the first three and how many more there are."""
    more = len(words) - MAX_NAMED
    return joined([*words[:MAX_NAMED], *([f"{more} more"] if more > 0 else [])])


def first_of(clauses: Sequence[str], most: int = MAX_NAMED) -> str:
    """`a; b; c; and 2 more`: the first `most`, and how many more there are."""
    more = len(clauses) - most
    return "; ".join(clauses[:most]) + (f"; and {more} more" if more > 0 else "")


def confidence(rounds: int, looks: int = 1) -> str:
    """`98.4% confidence from 7 rounds`; `looks`: at how many looks the plan may end."""
    return f"{confidence_of(rounds, looks):.1%} confidence from {rounds} rounds"


def paired_rounds(result: Result, case_id: str, *others: str) -> int:
    """The fewest rounds that the case and one of the others both finished."""
    rounds: dict[str, set[int]] = {each: set() for each in (case_id, *others)}
    for run in result.runs:
        if run.case_id in rounds and run.failure is None:
            rounds[run.case_id].add(run.round)
    return min(len(rounds[case_id] & rounds[other]) for other in others)


def marks_explained(verdicts: Sequence[Verdict], baseline: str) -> tuple[str, ...]:
    """The meanings of those marks (`numbers.mark`) that `verdicts` have."""
    notes = []
    if any(verdict.verdict == "no_difference_shown" for verdict in verdicts):
        notes.append(f"=  no difference from {baseline} shown")
    for mark, of_size in (
        (f"{OF_TWO_MODES}  the direction is shown, and no size of the difference", True),
        ("?  cannot say", False),
    ):
        those = [each for each in verdicts if each.has_no_size == of_size]
        reasons = tuple(dict.fromkeys(each.reason for each in those if each.reason))
        if reasons:
            notes.append(f"{mark}: {first_of(reasons)}")
    return tuple(notes)


def all_cases(result: Result) -> tuple[Case, ...]:
    """Every case of the plan, the unavailable ones last."""
    return (*result.plan.cases, *(absent.case for absent in result.plan.unavailable))


def load_titles(result: Result) -> dict[Load, str]:
    """Load → its full title, for every load that was asked for, in the plan's order."""
    return {load: _title(load) for load in loads_of(all_cases(result))}


def load_names(result: Result) -> dict[Load, str]:
    """Load → the fewest words that tell it from the result's other loads."""
    loads = loads_of(all_cases(result))
    return {
        load: ", ".join((pace(load), *differing))
        for load, differing in _differing(loads, _ASPECTS).items()
    }


def names_without_rate(result: Result) -> dict[Load, str]:
    """Paced load without its rate → the fewest words that tell it from the others.

    The words are empty where there are no others.
    """
    paced = [load for load in loads_of(all_cases(result)) if load.rate_per_s is not None]
    differing = _differing(map(without_rate, paced), {**_PACING, **_ASPECTS})
    return {load: ", ".join(words) for load, words in differing.items()}


def without_rate(load: Load) -> Load:
    """The load without its rate and the length of its slices, which follows from the rate."""
    return replace(load, rate_per_s=None, slice_ns=None)


def _differing(
    loads: Iterable[Load], aspects: Mapping[str, Callable[[Load], str]]
) -> dict[Load, list[str]]:
    """Load → those of its aspects that are not the same in all loads."""
    loads = dict.fromkeys(loads)
    distinct = [name for name in aspects if len({getattr(load, name) for load in loads}) > 1]
    return {load: [aspects[name](load) for name in distinct] for load in loads}


def pace(load: Load) -> str:
    """`flat out`, `closed loop`, or `at 1,000/s, constant, bursts of 8`."""
    if load.is_closed_loop:
        return "closed loop"
    if load.rate_per_s is None:
        return f"flat out, bursts of {load.burst}" if load.burst else "flat out"
    parts = [f"at {load.rate_per_s:,.10g}/s"]
    if load.arrival is not None:
        parts.append(load.arrival)
    if load.burst is not None and load.burst > 1:
        parts.append(f"bursts of {load.burst}")
    return ", ".join(parts)


def _title(load: Load) -> str:
    """The load's aspects in words, except those that have their usual values."""
    unsaid = {name for name in ("producers", "connections") if getattr(load, name) == 1}
    unsaid |= {
        name
        for name in ("busy_thread", "tls", "bidirectional", "parameters")
        if not getattr(load, name)
    }
    if load.direction != "reverse" and not load.bidirectional:
        unsaid.add("direction")
    aspects = (describe(load) for name, describe in _ASPECTS.items() if name not in unsaid)
    return f"{load.workload} {', '.join((pace(load), *aspects))}"


def _nouns(load: Load) -> tuple[str, str]:
    """What is sent, and who hands it over."""
    return ("requests", "caller") if load.workload == "rr" else ("messages", "producer")


def _size(size: MessageBytes) -> str:
    return f"{size.min} B" if size.min == size.max else f"{size.min}–{size.max} B"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
