"""The bounds of `echo`, and options that do not go together; each error names the remedy."""

from __future__ import annotations

from collections.abc import Sequence

from tinygram_bench.cli.bounds import (
    between,
    check_command,
    check_slice,
    one_of,
    server_address,
)
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.runs.slices import LEAST_MESSAGES
from tinygram_bench.workloads.echo.cases import (
    ALL_BUFFERS,
    DEFAULT_BUFFERS,
    PUBLISHED_BUFFERS,
    EchoOptions,
    External,
    in_flight_ns,
)
from tinygram_bench.workloads.echo.order import FAULTS, PER_READ

MAX_WORKERS = 256
"""At each client. With a library server, each worker's connection takes two descriptors there, and
a process may usually have 1,024."""
USUAL_WORKERS = 5
"""The workers of a client by default."""
MAX_DEPTH = 65_536
MAX_BUFFER_BYTES = 16 << 20
MAX_MESSAGES = 100_000_000
"""The most messages of a run, at a rate too: when each is due is known before it starts."""
_MAX_IN_FLIGHT_BYTES = 1 << 30
_LOOPBACK = "127.0.0.1"


def check_slices(plan: Plan, slice_ns: int, duration_ns: int) -> None:
    """Raise UsageError where a slice holds too few messages, or is too long."""
    trip_ns = max(map(in_flight_ns, plan.cases))
    trips = f"{LEAST_MESSAGES} round trips of {format_duration_ns(trip_ns)}"
    check_slice(slice_ns, duration_ns, LEAST_MESSAGES * trip_ns, trips)


def workers_of(asked: int | None, clients: int | None) -> int:
    """The workers of all clients together. Raises UsageError.

    `clients`: how many hosts of a cluster share them; None: no cluster.
    """
    shared_by = clients or 1
    workers = USUAL_WORKERS * shared_by if asked is None else asked
    return between("--workers", workers, 1, MAX_WORKERS * shared_by)


def check_in_flight(asked: EchoOptions) -> None:
    """Raise UsageError where a client would have too many bytes in flight."""
    workers = -(-asked.workers // (asked.clients or 1))
    in_flight_bytes = workers * asked.depth * max(asked.message_bytes)
    if in_flight_bytes > _MAX_IN_FLIGHT_BYTES:
        whose = "" if asked.clients is None else f" of each of {asked.clients} clients"
        raise UsageError(
            f"--workers {asked.workers} with --depth {asked.depth} would have {in_flight_bytes} "
            f"bytes{whose} in flight: at most 1 GiB is allowed, so ask for fewer or smaller "
            "messages"
        )


def buffers_of(asked: list[int] | None, every: bool, published: bool) -> Sequence[int]:
    """The largest reads of the servers: those asked for, or the usual ones."""
    if asked:
        return asked
    if published:
        return PUBLISHED_BUFFERS
    return ALL_BUFFERS if every else DEFAULT_BUFFERS


def check_fault(fault: str | None, reply: str) -> None:
    """Raise UsageError where there is no such fault, or not with this reply."""
    if fault is None:
        return
    one_of("--faulty", fault, FAULTS)
    if reply != PER_READ:
        raise UsageError(f"--faulty {fault} does not go with --reply {reply}: it replies to reads")


def external_of(command: str | None, port: int | None, server: str | None) -> External | None:
    """The server that is not ours; None where there is none. Raises UsageError."""
    if server is not None:
        if command is not None or port is not None:
            raise UsageError(
                "--server names a running server: leave out --server-command and --port"
            )
        return External(*server_address(server), None)
    if command is None:
        if port is not None:
            raise UsageError(
                "--port is only for --server-command: it is where that program listens"
            )
        return None
    if port is None:
        raise UsageError("--server-command needs --port: where the program listens, e.g. 9000")
    check_command("--server-command", command)
    return External(_LOOPBACK, between("--port", port, 1, 65_535), command)
