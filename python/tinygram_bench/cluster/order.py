"""What the bench and the hosts of a cluster say to each other, as lines of JSON.

Ray carries bytes alone: each side reads them into these types, or refuses them.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

import tinygram
from tinygram_bench.hosts.keys import Keys
from tinygram_bench.model.result import Case, Run
from tinygram_bench.model.value import Value

T = TypeVar("T")


def read(said: bytes, kind: type[T]) -> T:
    """What a host says. Raises ValueError for what is none of this tinygram, with the remedy."""
    try:
        return msgspec.json.decode(said, type=kind)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"none of tinygram {tinygram.__version__} ({error}): install the same version on all "
            "hosts"
        ) from error


class ServerOrder(Value, frozen=True):
    """Serve as `tinygram serve` does, at `host`; `clients`: how many at a time.

    `keys`: the server's; `other_keys`: those of its clients, by which it asks other servers.
    """

    host: str
    clients: int
    keys: Keys
    other_keys: Keys


class GeneratorOrder(Value, frozen=True):
    """Be a generator of a workload, whose far ends the server at `host` and `port` has.

    `seed`: the plan's; `number`: which of the generators this one is.
    """

    workload: str
    host: str
    port: int
    keys: Keys
    seed: int
    number: int


class BeginOrder(Value, frozen=True):
    """Set up these cases, this host's shares of them, for a round."""

    cases: tuple[Case, ...]
    round: int


class Measured(Value, frozen=True):
    """What a generator measured in a round.

    `step_error_ns`: by how much its slices may have been beside those of its server's clock; null:
    that is not known, and `step_fault` says why. `late_ns`: how long after the common start it was
    told it; 0: before.
    """

    runs: tuple[Run, ...]
    step_error_ns: int | None
    step_fault: str | None
    late_ns: int


class Other(Value, frozen=True):
    """Another server of the run, whose clock is to be looked at."""

    host: str
    port: int


class SinkFacts(Value, frozen=True):
    """Where bytes are taken, and what they begin with."""

    port: int
    token: bytes


class ToPath(Value, frozen=True):
    """Look at the path to the host that serves at `host` and `port`, and takes bytes at `sink`."""

    host: str
    port: int
    keys: Keys
    sink: SinkFacts


class Facts(Value, frozen=True):
    """What a host is: versions, and `environment` as a result has it."""

    tinygram: str
    python: str
    kernel: str
    environment: dict[str, Any]


class Moment(Value, frozen=True):
    """A time of a host's clock, and by how much it may be wrong; both in ns."""

    at_ns: int
    bound_ns: int


class PathFacts(Value, frozen=True):
    """The path from one host to another: the other's clock minus ours, wrong by `bound_ns` at most;
    the shortest round trip; and how fast bytes came through.
    """

    offset_ns: int
    bound_ns: int
    round_trip_ns: int
    bytes_per_s: float
