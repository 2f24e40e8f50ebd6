"""What loads are called: in full as a heading, and as briefly as can be in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinygram_bench.model.result import Case, MessageBytes, Result
from tinygram_bench.statistics.loads import Load, loads_of


def load_titles(result: Result) -> dict[Load, str]:
    """Load → heading, for every load that was asked for, in the plan's order."""
    return {load: _title(load) for load in all_loads(result)}


def load_names(result: Result) -> dict[Load, str]:
    """Load → the fewest words that tell it from the result's other loads."""
    loads = all_loads(result)
    distinct = _distinct_aspects(loads)
    return {
        load: ", ".join((pace(load), *(_ASPECTS[name](load) for name in distinct)))
        for load in loads
    }


def all_cases(result: Result) -> tuple[Case, ...]:
    """Every case of the plan, the unavailable ones last."""
    return (*result.plan.cases, *(absent.case for absent in result.plan.unavailable))


def all_loads(result: Result) -> tuple[Load, ...]:
    """Every load that was asked for."""
    return loads_of(all_cases(result))


def pace(load: Load) -> str:
    """`flat out`, `closed loop`, or `at 1,000/s, constant, bursts of 8`."""
    if load.is_closed_loop:
        return "closed loop"
    if load.rate_per_s is None:
        return "flat out"
    parts = [f"at {load.rate_per_s:,.10g}/s"]
    if load.arrival is not None:
        parts.append(load.arrival)
    if load.burst is not None and load.burst > 1:
        parts.append(f"bursts of {load.burst}")
    return ", ".join(parts)


def _title(load: Load) -> str:
    """All aspects, but for those that go without saying."""
    unsaid = {name for name in ("producers", "connections") if getattr(load, name) == 1}
    unsaid |= {name for name in ("busy_thread", "parameters") if not getattr(load, name)}
    aspects = (describe(load) for name, describe in _ASPECTS.items() if name not in unsaid)
    return f"{load.workload} {', '.join((pace(load), *aspects))}"


def _size(size: MessageBytes) -> str:
    return f"{size.min} B" if size.min == size.max else f"{size.min}–{size.max} B"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


_ASPECTS: dict[str, Callable[[Load], str]] = {
    "message_bytes": lambda load: f"messages of {_size(load.message_bytes)}",
    "link": lambda load: f"over {load.link}",
    "producers": lambda load: _count(load.producers, "producer"),
    "connections": lambda load: _count(load.connections, "connection"),
    "placement": lambda load: f"placement {load.placement}",
    "busy_thread": lambda load: "a busy thread beside" if load.busy_thread else "no busy thread",
    "parameters": lambda load: ", ".join(f"{name} {value}" for name, value in load.parameters),
}


def _distinct_aspects(loads: Sequence[Load]) -> tuple[str, ...]:
    return tuple(name for name in _ASPECTS if len({getattr(load, name) for load in loads}) > 1)
