"""The actor that Ray runs on a host of the cluster: it is asked and answers in JSON."""

from __future__ import annotations

import platform
import threading
from contextlib import ExitStack, closing
from typing import Any

import msgspec

import tinygram
from tinygram_bench.cluster.generator import Generator
from tinygram_bench.cluster.order import (
    BeginOrder,
    Facts,
    GeneratorOrder,
    Offered,
    OfferOrder,
    Other,
    PathFacts,
    ServerOrder,
    SinkFacts,
    ToPath,
)
from tinygram_bench.cluster.paths import Sink, bytes_per_s
from tinygram_bench.cluster.server import FarEnds, OfferedServers, now_ns
from tinygram_bench.host.network.settings import permitted_congestion_control
from tinygram_bench.host.probes.environment import environment
from tinygram_bench.hosts.address import FarAddress
from tinygram_bench.hosts.difference import Difference
from tinygram_bench.hosts.far_host import FarHost
from tinygram_bench.processes.orders import Listening

_FLEETING = ("load_average_1_5_15_min", "memory_bytes")


class HostActor:
    """A host: a server of far ends, a generator, or either end of a path that is looked at."""

    def __init__(self) -> None:
        # Never closed: Ray kills the process, and what it has started dies with it.
        self._stack = ExitStack()
        self._far_ends: FarEnds | None = None
        self._offered: OfferedServers | None = None
        self._generator: Generator | None = None
        self._lock = threading.Lock()

    def ask(self, step: str, order: bytes) -> bytes:
        """Do the step of that name. Raises the errors of the step."""
        answer = {
            "facts": self._facts,
            "offer": self._offer,
            "rest": self._rest,
            "count": self._count,
            "ping": lambda _: None,
            "serve": self._serve,
            "now": lambda _: now_ns(),
            "clock": self._clock,
            "generate": self._generate,
            "begin": self._begin,
            "warm": self._warm,
            "measure": self._measure,
            "sink": self._sink,
            "path": self._path,
        }[step](order)
        return msgspec.json.encode(answer)

    def _facts(self, _: bytes) -> Facts:
        found = environment(permitted_congestion_control(None))
        facts = {name: fact for name, fact in found.items() if name not in _FLEETING}
        python = f"{platform.python_implementation()} {platform.python_version()}"
        return Facts(tinygram.__version__, python, platform.release(), msgspec.to_builtins(facts))

    def _serve(self, order: bytes) -> Listening:
        asked = msgspec.json.decode(order, type=ServerOrder)
        with self._lock:
            self._far_ends = FarEnds(asked)
            self._offered = OfferedServers(asked, self._stack)
        return Listening(self._far_ends.port)

    def _offer(self, order: bytes) -> tuple[Offered, ...]:
        return self._servers().offer(msgspec.json.decode(order, type=OfferOrder))

    def _rest(self, order: bytes) -> tuple[()]:
        self._servers().rest(msgspec.json.decode(order, type=list[int]))
        return ()

    def _count(self, order: bytes) -> Any:
        return self._servers().counted(msgspec.json.decode(order, type=list[int]))

    def _servers(self) -> OfferedServers:
        assert self._offered is not None, "it was told to serve"
        return self._offered

    def _clock(self, order: bytes) -> Difference:
        """The difference of another server's clock from this host's."""
        asked = msgspec.json.decode(order, type=Other)
        assert self._far_ends is not None, "it was told to serve"
        return self._far_ends.clock_of(FarAddress(asked.host, asked.host, asked.port))

    def _generate(self, order: bytes) -> None:
        with self._lock:
            self._generator = Generator(msgspec.json.decode(order, type=GeneratorOrder))

    def _begin(self, order: bytes) -> list[int]:
        return self._own().begin(msgspec.json.decode(order, type=BeginOrder))

    def _warm(self, order: bytes) -> None:
        self._own().warm(msgspec.json.decode(order, type=list[int]))

    def _measure(self, order: bytes) -> Any:
        return self._own().measure(msgspec.json.decode(order, type=int))

    def _own(self) -> Generator:
        assert self._generator is not None, "it was told to generate"
        return self._generator

    def _sink(self, order: bytes) -> SinkFacts:
        sink = Sink(msgspec.json.decode(order, type=str))
        return SinkFacts(sink.port, sink.token)

    def _path(self, order: bytes) -> PathFacts:
        asked = msgspec.json.decode(order, type=ToPath)
        address = FarAddress(asked.host, asked.host, asked.port)
        with closing(FarHost(address, asked.keys)) as host:
            found = host.clock.difference_now()
            round_trip_ns = host.clock.round_trip_ns
        sink = asked.sink
        return PathFacts(
            found.offset_ns,
            found.bound_ns,
            round_trip_ns,
            bytes_per_s(asked.host, sink.port, sink.token),
        )
