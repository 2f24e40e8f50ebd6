"""The bounds of `echo`, and options that do not go together; each error names the remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygram_bench.cli.bounds import (
    between,
    check_command,
    check_slice,
    one_of,
    refuse_with,
    server_address,
)
from tinygram_bench.cli.sweep import AskedSweep
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import EchoParameters
from tinygram_bench.model.result import Plan
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.runs.slices import LEAST_MESSAGES, least_paced_ns
from tinygram_bench.workloads.echo.cases import (
    ALL_BUFFERS,
    DEFAULT_BUFFERS,
    PUBLISHED_BUFFERS,
    EchoOptions,
    External,
    in_flight_ns,
)
from tinygram_bench.workloads.echo.order import FAULTS, PER_READ
from tinygram_bench.workloads.turns import ARRIVALS

MAX_WORKERS = 256
"""With a library server, each worker's connection takes two descriptors there, and a process may
usually have 1,024."""
MAX_DEPTH = 65_536
MAX_BUFFER_BYTES = 16 << 20
MAX_MESSAGES = 100_000_000
"""Of a run, also of one at a rate: when each message is due is known before it starts."""
_MAX_IN_FLIGHT_BYTES = 1 << 30
_LOOPBACK = "127.0.0.1"


def rates_asked(
    rates_per_s: Sequence[float] | None,
    arrival: str | None,
    swept: AskedSweep | None,
    never_with: Mapping[str, object],
) -> list[float]:
    """Each rate of messages; the lowest one of a sweep; empty without rates. Raises UsageError.

    `never_with`: options that no rate goes with, and whether they are given.
    """
    found = [float(each) for each in rates_per_s or []]
    option = "--rate"
    if swept is not None and swept.parameter == "rate":
        found, option = [swept.low], "--sweep rate"
    if found:
        given = [other for other, is_given in never_with.items() if is_given]
        if "--messages" in given:
            raise UsageError(
                f"--messages cannot be combined with {option}, at which messages are due for a "
                "time: use --duration"
            )
        refuse_with(option, never_with, "there each message is sent when one has come back")
    elif arrival is not None:
        raise UsageError("--arrival needs a schedule: add --rate, for example --rate 1000")
    if arrival is not None:
        one_of("--arrival", arrival, ARRIVALS)
    return found


def check_swept(swept: AskedSweep | None, others: Mapping[str, object]) -> None:
    """Raise UsageError where what is swept needs a server of ours, and another is measured.

    `others`: the options of servers that are not ours, and whether they are given.
    """
    if swept is not None and swept.parameter != "rate":
        reason = "other servers are measured with --sweep rate alone"
        refuse_with(f"--sweep {swept.parameter}", others, f"{reason}; leave out one of the two")


def check_paced(plan: Plan) -> Plan:
    """Return the plan. Raises UsageError where a run at a rate has no message, or too many."""
    for case in plan.cases:
        if case.rate_per_s is None:
            continue
        duration_ns = EchoParameters.of(case).duration_ns or 0
        messages = case.rate_per_s * duration_ns / 1e9
        # A schedule holds a whole number of messages.
        if not 1 <= round(messages) <= MAX_MESSAGES:
            raise UsageError(
                f"--rate {case.rate_per_s:g} for {format_duration_ns(duration_ns)} is a schedule "
                f"of {messages:.3g} messages, which is outside 1 … {MAX_MESSAGES:,}: name another "
                "rate or --duration"
            )
    return plan


def check_slices(plan: Plan, slice_ns: int, duration_ns: int) -> None:
    """Raise UsageError where a slice holds too few messages, or is too long."""
    trip_ns = max(map(in_flight_ns, plan.cases))
    trips = f"{LEAST_MESSAGES} round trips of {format_duration_ns(trip_ns)}"
    check_slice(slice_ns, duration_ns, LEAST_MESSAGES * trip_ns, trips)
    for case in plan.cases:
        if case.rate_per_s is not None:
            holding = f"{LEAST_MESSAGES} messages at --rate {case.rate_per_s:g}"
            check_slice(slice_ns, duration_ns, least_paced_ns(case.rate_per_s, burst=1), holding)


def check_in_flight(asked: EchoOptions) -> None:
    """Raise UsageError where too many bytes would be in flight."""
    in_flight_bytes = asked.workers * asked.depth * max(asked.message_bytes)
    if in_flight_bytes > _MAX_IN_FLIGHT_BYTES:
        raise UsageError(
            f"--workers {asked.workers} with --depth {asked.depth} would have {in_flight_bytes} "
            "bytes in flight: at most 1 GiB is allowed, so ask for fewer or smaller messages"
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
