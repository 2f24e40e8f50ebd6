"""What loads have by default: a warm-up, slices where their time allows them, and due times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence

from msgspec.structs import replace

from tinygram_bench.model.result import Case
from tinygram_bench.runs.slices import LEAST_MESSAGES, SLICE_NS
from tinygram_bench.statistics.workloads.loads import turns_of

ARRIVALS = ("constant", "poisson", "onoff")
"""How messages at a rate are spread in time (crates/load, schedule)."""
_SEEDS_APART = 1_000_003
"""The distance between the arrivals' seeds of two hosts: more than there are rounds."""


def in_turns(
    cases: Sequence[Case],
    message_ns: Callable[[Case], float],
    *,
    lone_too: bool = False,
    least_slice_ns: Callable[[Case], int] = lambda _case: SLICE_NS,
) -> Iterator[Case]:
    """The cases; those that have others of their load beside them take turns in slices.

    `message_ns`: how long a message of a case takes at least; a slice holds LEAST_MESSAGES of each
    case of the load, and is lengthened so that whole slices fill the case's time. Where a slice
    would take more than that time, the cases of the load stay alone. `lone_too`: a case without
    others has slices, too. `least_slice_ns`: the least length of a case's slice.
    """
    least_ns: dict[Hashable, list[int]] = defaultdict(list)
    for case in cases:
        own_least_ns = max(least_slice_ns(case), messages_ns(message_ns(case)))
        least_ns[turns_of(case)].append(own_least_ns)
    for case in cases:
        sharing = least_ns[turns_of(case)]
        slice_ns = max(sharing)
        own_ns = getattr(case.parameters, "duration_ns", None)
        if (lone_too or len(sharing) > 1) and own_ns is not None and slice_ns <= own_ns:
            slice_ns = own_ns // (own_ns // slice_ns)
            case = replace(case, parameters=replace(case.parameters, slice_ns=slice_ns))
        yield case


def arrival_seed(seed: int, round: int, generator: int) -> int:
    """The seed of when messages are due: another one in each round, and at each of many hosts."""
    return seed + round + generator * _SEEDS_APART


def paced_name(rate_per_s: float, arrival: str) -> str:
    """The part of a case's id that says when its messages are due: the exact rate, and how."""
    shown = str(int(rate_per_s)) if rate_per_s.is_integer() else repr(rate_per_s)
    return f"{shown}-per-s-{arrival}"


def warm_up_messages(message_bytes: int, least: int = 1) -> int:
    """How many messages precede the measured ones: 1,024, or 4 MiB of them, or `least` if more."""
    return max(least, min(1_024, (4 << 20) // message_bytes))


def messages_ns(message_ns: float) -> int:
    """How long the LEAST_MESSAGES of a slice take, in ns."""
    return round(LEAST_MESSAGES * message_ns)
