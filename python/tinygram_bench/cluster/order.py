"""The messages between the bench and the hosts of a cluster, in JSON.

Ray carries only bytes: each side reads them into these types, or refuses them.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

import tinygram
from tinygram_bench.hosts.keys import Keys
from tinygram_bench.model.result import Case, Run
from tinygram_bench.model.value import Value
from tinygram_bench.processes.orders import Listening

T = TypeVar("T")


def read(said: bytes, kind: type[T], what: str = "what it says") -> T:
    """Read a host's message. Raises ValueError, with a remedy, if it is not of this tinygram.

    `what`: how the error calls the message.
    """
    try:
        return msgspec.json.decode(said, type=kind)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{what} is none of tinygram {tinygram.__version__} ({error}): install the same "
            "version on all hosts"
        ) from error


class ServerOrder(Value, frozen=True):
    """The order to serve as `tinygram serve` does, at `host`; `clients`: how many at a time.

    `keys`: the server's; `other_keys`: its clients', with which it asks other servers. `token`:
    what the data connections of all generators begin with.
    """

    host: str
    clients: int
    keys: Keys
    other_keys: Keys
    token: bytes


class GeneratorOrder(Value, frozen=True):
    """The order to be a generator of a workload, with far ends on the server at `host` and `port`.

    `seed`: the plan's; `number`: this generator's number among all.
    """

    workload: str
    host: str
    port: int
    keys: Keys
    seed: int
    number: int


class Offered(Value, frozen=True):
    """A server under test that all generators of a server host load.

    `listening` is None where it could not be started, and `failure` says why.
    """

    listening: Listening | None
    failure: str | None = None


class OfferOrder(Value, frozen=True):
    """The order to a server host to start the servers under test of a round, one for each case.

    `cases`: with the callers and connections that its generators have together. `seed`: the plan's.
    """

    workload: str
    seed: int
    cases: tuple[Case, ...]
    round: int


class BeginOrder(Value, frozen=True):
    """The order to set up this host's shares of cases for a round.

    `servers`: the servers under test of these cases; empty where each generator starts far ends of
    its own.
    """

    cases: tuple[Case, ...]
    round: int
    servers: tuple[Offered, ...] = ()


class Measured(Value, frozen=True):
    """What a generator measured in a round.

    `step_error_ns`: how far its slices may have been out of step with its server's clock; None:
    that is not known, and `step_fault` says why. `late_ns`: how long after the common start it was
    told that start; 0: before it.
    """

    runs: tuple[Run, ...]
    step_error_ns: int | None
    step_fault: str | None
    late_ns: int


class Other(Value, frozen=True):
    """The order to look at the clock of another server of the run."""

    host: str
    port: int


class SinkFacts(Value, frozen=True):
    """The port that takes bytes, and the token with which they begin."""

    port: int
    token: bytes


class ToPath(Value, frozen=True):
    """The order to look at the path to the host that serves at `host` and `port`, with `sink`."""

    host: str
    port: int
    keys: Keys
    sink: SinkFacts


class Facts(Value, frozen=True):
    """Facts about a host: versions, and `environment` as in a result."""

    tinygram: str
    python: str
    kernel: str
    environment: dict[str, Any]


class Moment(Value, frozen=True):
    """A time of a host's clock, and how wrong it may be; both in ns."""

    at_ns: int
    bound_ns: int


class PathFacts(Value, frozen=True):
    """The path from one host to another.

    `offset_ns`: the other's clock minus ours, wrong by `bound_ns` at most; `round_trip_ns`: the
    shortest one; `bytes_per_s`: how fast bytes came through.
    """

    offset_ns: int
    bound_ns: int
    round_trip_ns: int
    bytes_per_s: float
