"""Hosts of a cluster in one process and without Ray: real servers, generators and conductor."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any, cast

import msgspec
from tests.support.plans.echo import planned

from tinygram_bench.cluster.conductor import Conductor
from tinygram_bench.cluster.generator import Generator
from tinygram_bench.cluster.order import BeginOrder, GeneratorOrder, OfferOrder, ServerOrder
from tinygram_bench.cluster.ray_hosts import HostRef
from tinygram_bench.cluster.running import _Servers
from tinygram_bench.cluster.server import WITH_SERVERS, FarEnds, OfferedServers, now_ns
from tinygram_bench.cluster.shares import shared_out
from tinygram_bench.hosts.keys import Keys, make_keys
from tinygram_bench.hosts.wire import TOKEN_BYTES
from tinygram_bench.model.result import Plan, Run

SERVER = "127.0.0.1"
CLIENTS = 3


class LocalServer:
    """The host of the far ends; its clock is this one's."""

    host = SERVER

    def __init__(self, clients: int, stack: ExitStack) -> None:
        """It ends with the stack."""
        keys, self.client_keys = make_keys()
        order = ServerOrder(SERVER, clients, keys, self.client_keys, bytes(range(TOKEN_BYTES)))
        self.port = stack.enter_context(closing(FarEnds(order))).port
        self.offered = OfferedServers(order, stack)

    def ask(self, step: str, order: bytes = b"null") -> Future[bytes]:
        answered: Future[bytes] = Future()
        answered.set_result(msgspec.json.encode(self._answer(step, order)))
        return answered

    def _answer(self, step: str, order: bytes) -> object:
        if step == "offer":
            return self.offered.offer(msgspec.json.decode(order, type=OfferOrder))
        if step == "rest":
            self.offered.rest(msgspec.json.decode(order, type=list[int]))
            return ()
        if step == "count":
            return self.offered.counted(msgspec.json.decode(order, type=list[int]))
        return {"ping": None, "now": now_ns()}[step]


class LocalGenerator:
    """A generator in a thread of its own; `loses` is the step after which its host is lost."""

    server = SERVER

    def __init__(self, host: str, order: GeneratorOrder, loses: str | None = None) -> None:
        self.host = host
        self._generator = Generator(order)
        self._loses = loses
        self._threads = ThreadPoolExecutor(max_workers=2)

    def ask(self, step: str, order: bytes) -> Future[bytes]:
        return self._threads.submit(self._answer, step, order)

    def _answer(self, step: str, order: bytes) -> bytes:
        own = self._generator
        answer: object = None
        if step == "begin":
            answer = own.begin(msgspec.json.decode(order, type=BeginOrder))
        elif step == "warm":
            own.warm(msgspec.json.decode(order, type=list[int]))
        elif step == "measure":
            answer = own.measure(msgspec.json.decode(order, type=int))
        if step == self._loses:
            raise RuntimeError("its power was cut")
        return msgspec.json.encode(answer)

    def end(self) -> None:
        self._generator.abandon()

    def close(self) -> None:
        self._generator.close()
        self._threads.shutdown()


@contextmanager
def conducted(plan: Plan, clients: int, loses: dict[int, str] | None = None) -> Iterator[Conductor]:
    """A conductor of that many generators; `loses`: number → the step after which it is lost."""
    with ExitStack() as stack:
        server = LocalServer(clients, stack)
        generators = []
        for number in range(clients):
            order = _order(plan, server.port, server.client_keys, number)
            generator = LocalGenerator(f"host {number}", order, (loses or {}).get(number))
            stack.callback(generator.close)
            generators.append(generator)
        shares = partial(shared_out, clients=clients, seed=plan.seed)
        workload = plan.cases[0].workload
        refs = [cast(HostRef, server)]
        servers = _Servers(refs, {SERVER: server.port}, workload, plan.seed)
        under_test = servers if workload in WITH_SERVERS else None
        told: list[str] = []
        yield Conductor(generators, shares, servers, told.append, under_test=under_test)


def echo_plan(*only: str, **changes: Any) -> Plan:
    """A short plan of `tinygram echo` for `CLIENTS` generators, unless `changes` say otherwise."""
    shared = {"clients": CLIENTS, "takes_turns": True, "link": "remote", "duration_ns": 200_000_000}
    return planned(*only, **(shared | changes))


def _order(plan: Plan, port: int, keys: Keys, number: int) -> GeneratorOrder:
    return GeneratorOrder(plan.cases[0].workload, SERVER, port, keys, plan.seed, number)


def runs_of(plan: Plan, clients: int, loses: dict[int, str] | None = None) -> list[Run]:
    """A run of each case of the plan."""
    with conducted(plan, clients, loses) as conductor:
        return conductor.run_cases(plan.cases, 0)
