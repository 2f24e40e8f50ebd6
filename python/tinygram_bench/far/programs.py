"""What a client may have started here, and the orders that it may give.

Law: the names are fixed, an order is read into the type of its program, each of its values is
bounded, and where it listens, from whom it accepts and what it writes are this server's to say.
To add a program: a line in PROGRAMS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from tinygram.strategies import Strategy
from tinygram_bench.host.network import check_congestion_control
from tinygram_bench.hosts.clock_server import TOKEN_BYTES, ClockOrder
from tinygram_bench.loads.producers import MAX_POOL_BYTES, MAX_PRODUCERS
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.processes.orders import End
from tinygram_bench.workloads.echo import order as echo
from tinygram_bench.workloads.echo.marks import Mark
from tinygram_bench.workloads.echo.servers import server as echo_server
from tinygram_bench.workloads.rr import order as rr
from tinygram_bench.workloads.rr.cases import MAX_BYTES as MAX_CALL_BYTES
from tinygram_bench.workloads.rr.cases import STRATEGIES as RR_STRATEGIES
from tinygram_bench.workloads.rr.serving import SERVERS as RR_SERVERS
from tinygram_bench.workloads.rr.serving import longest_backlog
from tinygram_bench.workloads.sizes import order as sizes
from tinygram_bench.workloads.sizes.cases import MAX_ALTERNATING
from tinygram_bench.workloads.sizes.server import MAX_MESSAGE_BYTES as MAX_SAMPLE_BYTES
from tinygram_bench.workloads.stream.order import ReceiverOrder

_MAX_MESSAGES = 1 << 40
_MAX_MESSAGE_BYTES = 1 << 30
_MAX_BUFFER_BYTES = 1 << 30
_MAX_SEED = (1 << 64) - 1
_MAX_HOLD_NS = 10**10
_NOTHING = b"{}"

T = TypeVar("T")


class RefusedError(Exception):
    """What a client asked for is not allowed here; the message says what is."""


@dataclass(frozen=True)
class Here:
    """What this server fills into orders: its own address, the client's, and a process's files.

    `max_connections`: of a process, with its client.
    """

    own_host: str
    client_host: str
    files: tuple[int, ...]
    max_connections: int


@dataclass(frozen=True)
class Program:
    """A module of ours, the order that it takes, and how that is bounded and filled in.

    `follow_up`: what comes after an order, and has no values; None: nothing does.
    """

    module: str
    kind: type[Any]
    bounded: Callable[[Any, Here], Any]
    follow_up: type[Any] | None = None

    def order(self, raw: bytes, here: Here) -> object:
        """The order as its process gets it. Raises RefusedError."""
        if raw == _NOTHING and self.follow_up is not None:
            return self.follow_up()
        try:
            order = msgspec.json.decode(raw, type=self.kind)
        except msgspec.DecodeError as error:
            raise RefusedError(f"the order is none of {self.module}: {error}") from error
        return self.bounded(order, here)


def program(name: str) -> Program:
    """The program of that name. Raises RefusedError."""
    for known in PROGRAMS:
        if known.module == name:
            return known
    names = ", ".join(each.module for each in PROGRAMS)
    raise RefusedError(f"this server starts no {name!r}; the known ones are {names}")


def _receiver(order: ReceiverOrder, here: Here) -> ReceiverOrder:
    _check("messages", order.messages, 1, _MAX_MESSAGES)
    _check("warm_up", order.warm_up, 0, order.messages)
    _check("min_bytes", order.min_bytes, 1, order.max_bytes)
    _check("max_bytes", order.max_bytes, 1, _MAX_MESSAGE_BYTES)
    _check("producers", order.producers, 1, MAX_PRODUCERS)
    if order.producers > 1:
        _check("bytes of all producers", order.producers * order.max_bytes, 1, MAX_POOL_BYTES)
    _check("receive_buffer_bytes", order.receive_buffer_bytes, 1, _MAX_BUFFER_BYTES)
    _check_shared(order)
    _check_plain(order.tls)
    if len(here.files) != 3:
        raise RefusedError("a receiver writes 3 files")
    notes_fd, turns_fd, arrived_fd = here.files
    return replace(
        order,
        notes_fd=notes_fd,
        turns_fd=turns_fd,
        arrived_fd=arrived_fd,
        host=here.own_host,
        sender_host=here.client_host,
    )


def _rr_server(order: rr.ServerOrder, here: Here) -> rr.ServerOrder:
    _check_known("runtime", order.runtime, tuple(RR_SERVERS))
    _check_known("strategy", order.strategy, RR_STRATEGIES)
    _check("request_bytes", order.request_bytes, 1, MAX_CALL_BYTES)
    _check("reply_bytes", order.reply_bytes, 1, MAX_CALL_BYTES)
    _check("backlog", order.backlog, 0, longest_backlog())
    _check_shared(order)
    return replace(order, port=0, host=here.own_host, client_host=here.client_host)


def _echo_server(order: echo.ServerOrder, here: Here) -> echo.ServerOrder:
    try:
        chosen = echo_server(order.runtime, order.implementation, order.server)
    except LookupError as error:
        raise RefusedError(str(error)) from error
    missing = chosen.missing()
    if missing is not None:
        raise RefusedError(f"{order.runtime} cannot run on this server: {missing}")
    _check_plain(order.tls)
    _check_strategy(order.strategy)
    if not chosen.supports(order.strategy):
        raise RefusedError(f"strategy {order.strategy} is none of {order.server}")
    _check_known("reply", order.reply, echo.REPLIES)
    _check("message_bytes", order.message_bytes, 1, _MAX_MESSAGE_BYTES)
    _check("buffer_bytes", order.buffer_bytes, 0, _MAX_BUFFER_BYTES)
    if not 1 <= order.connections <= here.max_connections:
        raise RefusedError(
            f"{order.connections} connections are more than a process may have here, "
            f"{here.max_connections}: measure with fewer, or start the server with "
            "--max-connections"
        )
    if order.fault is not None:
        _check_known("fault", order.fault, chosen.faults)
    _check_control(order.congestion_control)
    return replace(order, host=here.own_host, client_host=here.client_host)


def _sizes_server(order: sizes.ServerOrder, here: Here) -> sizes.ServerOrder:
    _check("ports", order.ports, 1, MAX_ALTERNATING)
    _check("sample_bytes", order.sample_bytes, 0, MAX_SAMPLE_BYTES)
    _check_shared(order)
    return replace(order, host=here.own_host, client_host=here.client_host)


def _clock(order: ClockOrder, here: Here) -> ClockOrder:
    if len(order.token) != TOKEN_BYTES:
        raise RefusedError(f"a token has {TOKEN_BYTES} bytes")
    return replace(order, host=here.own_host)


def _check_shared(order: ReceiverOrder | rr.ServerOrder | sizes.ServerOrder) -> None:
    if order.seed is not None:
        _check("seed", order.seed, 0, _MAX_SEED)
    _check_control(order.congestion_control)


def _check_control(name: str) -> None:
    try:
        check_congestion_control(name)
    except (UsageError, ValueError) as error:
        raise RefusedError(f"on the far host, {error}") from error


def _check_plain(tls: object) -> None:
    """A key is not for the wire: what is measured over TLS is on one host."""
    if tls is not None:
        raise RefusedError("messages between two hosts are measured without TLS")


def _check_strategy(strategy: Strategy) -> None:
    try:
        known = parse_strategy(str(strategy))
    except (UsageError, ValueError) as error:
        raise RefusedError(str(error)) from error
    _check("the strategy's duration", known.duration_ns or 0, 0, _MAX_HOLD_NS)
    if known != strategy:
        raise RefusedError(f"strategy {strategy} has other values than its name says")


def _check(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise RefusedError(f"{name} {value} is outside {least} … {most}")


def _check_known(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise RefusedError(f"unknown {name} {value!r}; the known ones are {', '.join(known)}")


_WORKLOADS = "tinygram_bench.workloads"
PROGRAMS = (
    Program(f"{_WORKLOADS}.stream.receiver", ReceiverOrder, _receiver),
    Program(f"{_WORKLOADS}.rr.server", rr.ServerOrder, _rr_server, End),
    Program(f"{_WORKLOADS}.echo.server", echo.ServerOrder, _echo_server, Mark),
    Program(f"{_WORKLOADS}.sizes.server", sizes.ServerOrder, _sizes_server, End),
    Program("tinygram_bench.hosts.clock_server", ClockOrder, _clock),
)
