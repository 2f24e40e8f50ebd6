"""From the options of `tinygram sizes` to the cases of its plan."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.host.placement import placement
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, MessageBytes, Plan
from tinygram_bench.model.units import parse_bytes
from tinygram_bench.workloads.available import parted
from tinygram_bench.workloads.sizes.server import MAX_MESSAGE_BYTES, MAX_MESSAGES

MAX_SAMPLE_BYTES = MAX_MESSAGE_BYTES
"""The most bytes of all messages of a connection, which both ends keep in memory."""
MAX_ALTERNATING = 256
"""The most cases whose samples alternate: each has a port, and a process may usually have 1,024
descriptors."""
RUNTIME = "native"
"""The runtime of all cases of `sizes`: the client is native code."""
STRATEGIES = ("nodelay", "nagle")
_ACKNOWLEDGEMENT_BYTES = 4
LOCAL_PARTS = ("system-call", "one-thread", "same-core", "other-core")
"""The local parts of a round trip; each includes the one before."""


class SizesOptions(Struct, frozen=True):
    """The options of `tinygram sizes`.

    `server`: IPv4:PORT of a server that runs already; None: one of ours for each run.
    `predicted_bytes`: the sizes whose times the report predicts. `takes_turns`: samples of several
    cases alternate. `probe_ns`: the interval at which what the kernel holds is sampled; None: it is
    not.
    """

    sizes_bytes: Sequence[int]
    round_trips: Sequence[int]
    setup_writes: Sequence[int]
    strategies: Sequence[str]
    samples: int
    first_samples: int
    predicted_bytes: Sequence[int]
    server: str | None
    has_local: bool
    congestion_control: str
    link: str
    placement: str
    timeout_ns: int
    rounds: int
    seed: int
    takes_turns: bool = False
    probe_ns: int | None = None


def plan_sizes(options: SizesOptions) -> Plan:
    """The plan; cases that cannot run here are in it as unavailable. Raises UsageError."""
    cases = [
        _exchange(options, size, trips, writes, strategy)
        for strategy in dict.fromkeys(options.strategies)
        for writes in dict.fromkeys(options.setup_writes)
        for size in dict.fromkeys(options.sizes_bytes)
        for trips in dict.fromkeys(options.round_trips)
        # Without data the setup is one write either way, which is measured only once.
        if trips or writes == 2
    ]
    if not cases:
        raise UsageError(
            "--setup-writes 1 joins the setup and the first data, and with --round-trips 0 there "
            "is none: name more round trips"
        )
    if options.takes_turns and len(cases) > 1:
        cases = list(_alternating(cases))
    cases += [_local(options, part) for part in LOCAL_PARTS if options.has_local]
    here, unavailable = parted(cases, missing)
    return Plan(here, options.rounds, options.seed, unavailable)


def _alternating(cases: Sequence[Case]) -> Iterator[Case]:
    """The cases, whose samples alternate. Raises UsageError where there are too many of them."""
    if len(cases) > MAX_ALTERNATING:
        raise UsageError(
            f"single samples of {MAX_ALTERNATING} cases can alternate at most, and these are "
            f"{len(cases)}: name fewer --sizes or --round-trips, or let each run alone (--lone)"
        )
    for case in cases:
        parameters = msgspec.structs.replace(SizesParameters.of(case), alternates=True)
        yield msgspec.structs.replace(case, parameters=parameters)


def check_sample_bytes(sizes_bytes: Sequence[int], round_trips: Sequence[int]) -> None:
    """Raises UsageError when a connection would carry more than both ends may keep."""
    most = max(sizes_bytes) * max(round_trips)
    if most > MAX_SAMPLE_BYTES:
        raise UsageError(
            f"{max(round_trips)} round trips of {max(sizes_bytes)} bytes are more than the "
            f"{MAX_SAMPLE_BYTES} bytes that a connection may carry: name smaller --sizes or fewer "
            "--round-trips"
        )


def first_sample(sizes_bytes: Sequence[int], round_trips: Sequence[int]) -> tuple[bytes, int]:
    """The bytes that a sample of the smallest size sends, and how many bytes answer it.

    The setup is the length and the count of messages, as unsigned 32-bit integers in network order
    (crates/load, messages/sizes); each message is acknowledged with its length.
    """
    length, count = min(sizes_bytes), min(1, max(round_trips))
    return struct.pack("!II", length, count) + bytes(length * count), _ACKNOWLEDGEMENT_BYTES * count


def parse_sizes(text: str) -> tuple[int, ...]:
    """Read sizes: `100`, `1kB,64KiB`, or by decades `1..1MB`. Raises UsageError."""
    return tuple(size for part in text.split(",") for size in _sizes_of(part.strip()))


def parse_round_trips(text: str) -> tuple[int, ...]:
    """Read counts of round trips, such as `0,1,2`. Raises UsageError."""
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if not (part.isascii() and part.isdigit() and len(part) < 10 and int(part) <= MAX_MESSAGES):
            raise UsageError(
                f"--round-trips {part!r} is not a number from 0 to {MAX_MESSAGES}: write for "
                "example --round-trips 0,1,2"
            )
    return tuple(map(int, parts))


def _sizes_of(text: str) -> Iterator[int]:
    low_text, dots, high_text = text.partition("..")
    low = _size(low_text)
    if not dots:
        yield low
        return
    high = _size(high_text)
    if low > high:
        raise UsageError(
            f"the sizes {text!r} are reversed: write the smaller first, {high_text}..{low_text}"
        )
    while low < high:
        yield low
        low *= 10
    yield high


def _size(text: str) -> int:
    size = parse_bytes(text)
    if size > MAX_MESSAGE_BYTES:
        raise UsageError(f"the size {text!r} is above 64 MiB: messages have 1 B to 64 MiB")
    return size


def _exchange(
    options: SizesOptions, size_bytes: int, round_trips: int, setup_writes: int, strategy: str
) -> Case:
    trips = "1-round-trip" if round_trips == 1 else f"{round_trips}-round-trips"
    writes = "1-setup-write" if setup_writes == 1 else f"{setup_writes}-setup-writes"
    to = "" if options.server is None else f"/server-{options.server}"
    return _case(
        options,
        strategy,
        f"{size_bytes}B/{trips}/{writes}{to}",
        size_bytes,
        SizesParameters(
            part=None,
            round_trips=round_trips,
            setup_writes=setup_writes,
            server_address=options.server,
            predicted_bytes=tuple(options.predicted_bytes),
            probe_ns=options.probe_ns,
            **_shared(options),
        ),
    )


def _local(options: SizesOptions, part: str) -> Case:
    """The case of a local part, which uses no link, whatever the other cases use."""
    here = replace(options, link="loopback")
    parameters = SizesParameters(part=part, round_trips=1, **_shared(options))
    return _case(here, "nodelay", f"local/{part}", 1, parameters)


def _shared(options: SizesOptions) -> dict[str, Any]:
    return {
        "samples": options.samples,
        "first_samples": options.first_samples,
        "congestion_control": options.congestion_control,
        "timeout_ns": options.timeout_ns,
    }


def _case(
    options: SizesOptions,
    strategy: str,
    name: str,
    size_bytes: int,
    parameters: SizesParameters,
) -> Case:
    return Case(
        case_id=f"sizes/native/tinygram/{strategy}/{options.link}/{name}",
        workload="sizes",
        runtime=RUNTIME,
        implementation="tinygram",
        strategy=strategy,
        link=options.link,
        message_bytes=MessageBytes(size_bytes, size_bytes),
        rate_per_s=None,
        arrival=None,
        burst=None,
        producers=1,
        connections=1,
        placement=options.placement,
        parameters=parameters,
    )


def missing(case: Case) -> str | None:
    """Why the case cannot run on this host; None where it can."""
    part = SizesParameters.of(case).part
    if part is None:
        return None
    try:
        placement("apart" if part == "other-core" else "same")
    except UsageError:
        return "it needs two cores, and this process may use one"
    return None
