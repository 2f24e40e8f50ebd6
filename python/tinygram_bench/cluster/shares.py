"""A client's share of a case that several hosts send together: of its connections, and of its rate.

Connections are whole, and the rate goes with them; so each connection has the same rate everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tinygram_bench import _native
from tinygram_bench.model.parameters import StreamParameters
from tinygram_bench.model.result import Case


def shares_of(total: int, clients: int) -> tuple[int, ...]:
    """`total` in as many whole parts, which differ by one at most, the larger ones first."""
    least, more = divmod(total, clients)
    return tuple(least + (number < more) for number in range(clients))


def share_of(case: Case, connections: int, seed: int) -> Case:
    """What a client does of a case, which keeps its name and its slices."""
    if connections == case.connections:
        return case
    if case.rate_per_s is None:
        return replace(case, connections=connections)
    parameters = StreamParameters.of(case)
    rate_per_s = case.rate_per_s * connections / case.connections
    messages = _native.scheduled_messages(
        rate_per_s, str(case.arrival), case.burst or 1, parameters.duration_ns or 0, seed
    )
    return replace(
        case,
        connections=connections,
        rate_per_s=rate_per_s,
        parameters=replace(parameters, messages=messages),
    )


def shared_out(cases: Sequence[Case], clients: int, seed: int) -> tuple[tuple[Case, ...], ...]:
    """The cases of each client."""
    return tuple(
        tuple(share_of(case, shares_of(case.connections, clients)[number], seed) for case in cases)
        for number in range(clients)
    )
