"""A cluster that is ready to measure: servers, generators, and a conductor who runs cases."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

import tinygram
from tinygram_bench.cluster.conductor import Conductor, by_case_id
from tinygram_bench.cluster.order import Facts, GeneratorOrder, Moment, ServerOrder, ToStart
from tinygram_bench.cluster.ray_hosts import HostRef, answers, reached
from tinygram_bench.hosts.keys import Keys, make_keys
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan
from tinygram_bench.processes.orders import Listening
from tinygram_bench.processes.workers import RunError
from tinygram_bench.workloads.stream.shares import shared_out

_MOMENT_S = 5.0


@dataclass(frozen=True)
class ClusterAsked:
    """`--cluster ADDRESS --servers N --clients N`."""

    address: str
    servers: int
    clients: int


@dataclass(frozen=True)
class _Generator:
    ref: HostRef
    server: str

    @property
    def host(self) -> str:
        return self.ref.host

    def ask(self, step: str, order: bytes) -> Any:
        return self.ref.ask(step, order)


@dataclass(frozen=True)
class _Servers:
    refs: Sequence[HostRef]
    ports: Mapping[str, int]

    def starts(self, lead_s: float) -> dict[str, Moment]:
        first, *others = self.refs
        found = {first.host: self._moment(first, ToStart(round(lead_s * 1e9), None))}
        at_ns = found[first.host].at_ns
        address = (first.host, self.ports[first.host])
        for each in others:
            found[each.host] = self._moment(each, ToStart(at_ns, address))
        return found

    def _moment(self, ref: HostRef, order: ToStart) -> Moment:
        try:
            answer = ref.ask("moment", msgspec.json.encode(order)).result(_MOMENT_S)
        except (RuntimeError, TimeoutError) as error:
            why = str(error) or f"it did not answer in {_MOMENT_S:g} s"
            raise RunError(f"the server {ref.host} cannot be asked for the time: {why}") from error
        return msgspec.json.decode(answer, type=Moment)


@contextmanager
def conducting(asked: ClusterAsked, plan: Plan) -> Iterator[tuple[Conductor, list[dict[str, Any]]]]:
    """A conductor of the plan's cases, and the facts of the hosts. Raises UsageError."""
    words = f"--servers {asked.servers} with --clients {asked.clients}"
    server_keys, client_keys = make_keys()
    with (
        reached(asked.address) as cluster,
        cluster.spread(asked.servers + asked.clients, words) as refs,
    ):
        facts = facts_of(refs)
        check_versions(refs, facts)
        servers, clients = refs[: asked.servers], refs[asked.servers :]
        ports = _serving(servers, asked.clients, server_keys, client_keys)
        generators = _generating(servers, clients, ports, client_keys, plan.seed)
        shares = by_case_id(shared_out(plan.cases, asked.clients, plan.seed))
        conductor = Conductor(generators, shares, _Servers(servers, ports), _tell)
        names = {node.host: node.name for node in cluster.nodes}
        roles = ["server"] * asked.servers + ["generator"] * asked.clients
        yield (
            conductor,
            [
                {"host": ref.host, "name": names[ref.host], "role": role, **fact.environment}
                for ref, role, fact in zip(refs, roles, facts, strict=True)
            ],
        )


def facts_of(refs: Sequence[HostRef]) -> list[Facts]:
    """What each host is. Raises UsageError where one cannot say so."""
    said = answers(refs, [each.ask("facts") for each in refs], "asked what it is")
    return [msgspec.json.decode(each, type=Facts) for each in said]


def check_versions(refs: Sequence[HostRef], facts: Sequence[Facts]) -> None:
    """Raises UsageError where a host has another tinygram than this one."""
    for ref, fact in zip(refs, facts, strict=True):
        if fact.tinygram != tinygram.__version__:
            raise UsageError(
                f"--cluster: {ref.host} has tinygram {fact.tinygram}, and this host "
                f"{tinygram.__version__}: install the same version on all hosts"
            )


def serve_orders(
    refs: Sequence[HostRef], clients: int, server_keys: Keys, client_keys: Keys
) -> list[bytes]:
    return [
        msgspec.json.encode(ServerOrder(each.host, clients, server_keys, client_keys))
        for each in refs
    ]


def _serving(
    refs: Sequence[HostRef], clients: int, server_keys: Keys, client_keys: Keys
) -> dict[str, int]:
    """The port of each server."""
    orders = serve_orders(refs, clients, server_keys, client_keys)
    asked = [ref.ask("serve", order) for ref, order in zip(refs, orders, strict=True)]
    said = answers(refs, asked, "told to serve")
    ports = [msgspec.json.decode(each, type=Listening).port for each in said]
    return {ref.host: port for ref, port in zip(refs, ports, strict=True)}


def _generating(
    servers: Sequence[HostRef],
    clients: Sequence[HostRef],
    ports: Mapping[str, int],
    keys: Keys,
    seed: int,
) -> list[_Generator]:
    """The generators, which take the servers in turn."""
    generators = [
        _Generator(ref, servers[number % len(servers)].host) for number, ref in enumerate(clients)
    ]
    asked = []
    for number, each in enumerate(generators):
        order = GeneratorOrder(each.server, ports[each.server], keys, seed, number)
        asked.append(each.ask("generate", msgspec.json.encode(order)))
    answers(clients, asked, "connecting to its server")
    return generators


def _tell(text: str) -> None:
    print(f"tinygram: --cluster: {text}", file=sys.stderr, flush=True)
