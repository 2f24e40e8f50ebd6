"""Loads: what is asked of the sender. Cases compete only where their load is the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tinygram.bench.result import Case, MessageBytes

LIMIT_RUNTIME = "native"


@dataclass(frozen=True)
class Load:
    """All of a case but how it sends (runtime, implementation, strategy) and its parameters."""

    workload: str
    message_bytes: MessageBytes
    rate_per_s: float | None
    arrival: str | None
    burst: int | None
    link: str
    producers: int
    connections: int
    placement: str
    busy_thread: bool

    @classmethod
    def of(cls, case: Case) -> Load:
        """The load that `case` is put under."""
        named = cls.__dataclass_fields__.keys() - {"busy_thread"}
        busy_thread = bool(case.parameters.get("busy_thread"))
        return cls(**{name: getattr(case, name) for name in named}, busy_thread=busy_thread)

    @property
    def is_flat_out(self) -> bool:
        """Whether messages are sent as fast as the sender can."""
        return self.rate_per_s is None


def loads_of(cases: Iterable[Case]) -> tuple[Load, ...]:
    """Every load once, in the order of first appearance."""
    return tuple(dict.fromkeys(Load.of(case) for case in cases))


def is_limit(case: Case) -> bool:
    """Whether the case shows what the machine can do, and so competes with nobody."""
    return case.runtime == LIMIT_RUNTIME


def is_base(case: Case) -> bool:
    """Whether the case is `loop/nodelay` by hand, which all others are measured against."""
    way = (case.runtime, case.implementation, case.strategy)
    return way == ("loop", "stdlib", "nodelay")


def way_of(case: Case) -> str:
    """How the case sends, in words: `asyncio/nagle`, `asyncio/tinygram/adaptive`."""
    is_by_hand = case.implementation == "stdlib" or is_limit(case)
    implementation = () if is_by_hand else (case.implementation,)
    return "/".join((case.runtime, *implementation, case.strategy))
