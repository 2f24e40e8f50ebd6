"""A generator's share of a case that several hosts load together.

For a stream, that is a share of whole connections, and of the rate in proportion, so that each
connection has the same rate everywhere. For `rr` it is a share of each process's callers, and for
`echo` of the client's workers, each with the rate in proportion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from tinygram_bench import _native
from tinygram_bench.host.descriptors import check_descriptors, descriptors_of
from tinygram_bench.model.parameters import EchoParameters, RrParameters, StreamParameters
from tinygram_bench.model.result import Case, Run


def shares_of(total: int, clients: int) -> tuple[int, ...]:
    """`total` in `clients` whole parts, which differ by one at most, the larger ones first."""
    least, more = divmod(total, clients)
    return tuple(least + (number < more) for number in range(clients))


def shared_out(case: Case, clients: int, seed: int) -> tuple[Case, ...]:
    """Each client's share of a case, which keeps its name and its slices."""
    total_of, share_of = _SHARED[case.workload]
    parts = shares_of(total_of(case), clients)
    # There are at most two different parts.
    made = {part: share_of(case, part, seed) for part in dict.fromkeys(parts)}
    return tuple(made[part] for part in parts)


def of_all(case: Case, shares: Sequence[Case]) -> Case:
    """The case of a server that all these shares load together."""
    return replace(
        case,
        producers=sum(each.producers for each in shares),
        connections=sum(each.connections for each in shares),
    )


def check_server_descriptors(case: Case) -> None:
    """Raise UsageError where a process here may not have all connections of a case's server."""
    option = "--workers" if case.workload == "echo" else "--connections"
    # A case of rr describes the callers: no server of rr has the library.
    taken = descriptors_of(case) if case.workload == "echo" else case.connections
    check_descriptors(f"{option} of all clients of a server", case.connections, taken)


def replied_bytes(share: Case, run: Run | None) -> int:
    """How much a server of `echo` has sent back to a generator, in plaintext; else 0.

    `run`: what was measured after the warm-up; None: nothing yet.
    """
    if share.workload != "echo":
        return 0
    warm_up = EchoParameters.of(share).warm_up_messages
    measured = 0 if run is None else run.counters.get("messages") or 0
    return (warm_up + measured) * share.message_bytes.max


def _stream_share(case: Case, connections: int, seed: int) -> Case:
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


def _rr_share(case: Case, callers: int, _seed: int) -> Case:
    asked = RrParameters.of(case)
    is_shared = asked.connections == "shared"
    depth = None if asked.depth is None else min(asked.depth, callers)
    producers = asked.processes * callers
    share = case.rate_per_s and case.rate_per_s * producers / case.producers
    return replace(
        case,
        rate_per_s=share,
        producers=producers,
        connections=asked.processes * (1 if is_shared else callers),
        parameters=replace(asked, callers_per_process=callers, depth=depth),
    )


def _echo_share(case: Case, workers: int, _seed: int) -> Case:
    asked = EchoParameters.of(case)
    # Rounded up, so that as many as are in flight precede the measured ones at each client, too.
    warm_up = math.ceil(asked.warm_up_messages * workers / case.connections)
    return replace(
        case,
        rate_per_s=case.rate_per_s and case.rate_per_s * workers / case.connections,
        connections=workers,
        parameters=replace(asked, warm_up_messages=warm_up),
    )


_SHARED: Mapping[str, tuple[Callable[[Case], int], Callable[[Case, int, int], Case]]] = {
    "stream": (lambda case: case.connections, _stream_share),
    "rr": (lambda case: RrParameters.of(case).callers_per_process, _rr_share),
    "echo": (lambda case: case.connections, _echo_share),
}
"""Workload → what of a case is shared out, and a function that makes a part of it a case."""
