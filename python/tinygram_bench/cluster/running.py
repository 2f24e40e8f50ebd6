"""A cluster that is ready to measure: servers, generators, and a conductor that runs cases."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

import tinygram
from tinygram_bench.cluster.conductor import Conductor, Lost
from tinygram_bench.cluster.order import (
    Facts,
    GeneratorOrder,
    Moment,
    Offered,
    OfferOrder,
    Other,
    ServerOrder,
    read,
)
from tinygram_bench.cluster.ray_hosts import HostRef, answers, reached
from tinygram_bench.cluster.server import WITH_SERVERS
from tinygram_bench.cluster.shares import shared_out
from tinygram_bench.hosts.difference import ClockTime, Difference
from tinygram_bench.hosts.keys import Keys, make_keys
from tinygram_bench.hosts.wire import TOKEN_BYTES
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Case, Plan
from tinygram_bench.processes.orders import Listening
from tinygram_bench.workloads.echo.marks import ServerUsed

_ANSWER_S = 6.0
_OFFER_S = 60.0
"""How long a host may take to start the servers under test of all cases, or to ask them."""
_NOW: Any = ClockTime
"""What a server says to `now`. A type with bounds is no `type[T]` to mypy."""

T = TypeVar("T")


class ClusterAsked(Struct, frozen=True):
    """`--cluster ADDRESS --servers N --clients N`."""

    address: str
    servers: int
    clients: int


class _Generator(Struct, frozen=True):
    ref: HostRef
    server: str

    @property
    def host(self) -> str:
        return self.ref.host

    def ask(self, step: str, order: bytes) -> Future[bytes]:
        return self.ref.ask(step, order)

    def end(self) -> None:
        self.ref.end()


class _Servers(Struct):
    """The servers. A lost one stays lost: what it was told, and its clients, are gone."""

    refs: Sequence[HostRef]
    ports: Mapping[str, int]
    workload: str = ""
    seed: int = 0
    lost: dict[str, Lost] = field(default_factory=dict)

    def starts(self, lead_s: float) -> dict[str, Moment | Lost]:
        self._ping()
        found: dict[str, Moment | Lost] = {}
        while not found and self._present:
            first, *others = self._present
            # Asked before the time, because a look takes a while.
            other = msgspec.json.encode(Other(first.host, self.ports[first.host]))
            looked = self._asked([(each, "clock", other) for each in others], Difference)
            for now_ns in self._asked([(first, "now", b"")], _NOW).values():
                at_ns = now_ns + round(lead_s * 1e9)
                found[first.host] = Moment(at_ns, 0)
                for host, difference in looked.items():
                    found[host] = Moment(difference.near_ns(at_ns), difference.bound_ns)
        found.update(self.lost)
        return found

    def offer(
        self, of_hosts: Mapping[str, Sequence[Case]], round: int
    ) -> dict[str, Sequence[Offered] | Lost]:
        """See `ServersUnderTest`."""
        orders = {
            host: OfferOrder(self.workload, self.seed, tuple(cases), round)
            for host, cases in of_hosts.items()
        }
        counts = {host: len(cases) for host, cases in of_hosts.items()}
        found: dict[str, Sequence[Offered] | Lost] = {}
        found |= self._told("offer", orders, Offered, counts)
        return found | {host: self.lost[host] for host in of_hosts if host in self.lost}

    def rest(self, replied_bytes: Mapping[str, Sequence[int]]) -> None:
        """See `ServersUnderTest`."""
        counts = dict.fromkeys(replied_bytes, 0)
        self._told("rest", replied_bytes, ServerUsed | None, counts)

    def counted(
        self, replied_bytes: Mapping[str, Sequence[int]]
    ) -> Mapping[str, Sequence[ServerUsed | None]]:
        """See `ServersUnderTest`."""
        counts = {host: len(each) for host, each in replied_bytes.items()}
        return self._told("count", replied_bytes, ServerUsed | None, counts)

    def _told(
        self, step: str, orders: Mapping[str, object], kind: Any, counts: Mapping[str, int]
    ) -> dict[str, tuple[Any, ...]]:
        """What hosts answer to orders for their servers under test, which take a while.

        `kind`, `counts`: of what, and how many of them, an answer is made. A host that answers
        something else is lost.
        """
        self._ping()
        present = [each for each in self._present if each.host in orders]
        words = [(each, step, msgspec.json.encode(orders[each.host])) for each in present]
        found = {}
        for host, told in self._asked(words, tuple[kind, ...], _OFFER_S).items():
            if len(told) == counts[host]:
                found[host] = told
            else:
                self.lost[host] = Lost(f"it answers of {len(told)} servers")
        return found

    def _ping(self) -> None:
        self._asked([(each, "ping", b"") for each in self._present], type(None))

    @property
    def _present(self) -> list[HostRef]:
        return [each for each in self.refs if each.host not in self.lost]

    def _asked(
        self,
        questions: Sequence[tuple[HostRef, str, bytes]],
        kind: type[T],
        limit_s: float | None = None,
    ) -> dict[str, T]:
        """Each server's answer; servers that do not answer, or answer something else, are lost."""
        limit_s = _ANSWER_S if limit_s is None else limit_s
        asked = {ref.host: ref.ask(step, order) for ref, step, order in questions}
        wait(asked.values(), limit_s)
        found: dict[str, T] = {}
        for host, future in asked.items():
            if not future.done():
                self.lost[host] = Lost(f"it did not answer in {limit_s:g} s")
            elif (error := future.exception()) is not None:
                self.lost[host] = Lost(str(error))
            else:
                try:
                    found[host] = read(future.result(), kind)
                except ValueError as wrong:
                    self.lost[host] = Lost(str(wrong))
        return found


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
        generators = _generating(servers, clients, ports, client_keys, plan)
        shares = partial(shared_out, clients=asked.clients, seed=plan.seed)
        workload = plan.cases[0].workload
        of_hosts = _Servers(servers, ports, workload, plan.seed)
        under_test = of_hosts if workload in WITH_SERVERS else None
        conductor = Conductor(generators, shares, of_hosts, _tell, under_test=under_test)
        roles = ["server"] * asked.servers + ["generator"] * asked.clients
        shared = {} if under_test is None else {"server_processes": "one for all generators"}
        of_roles = {"server": shared, "generator": {}}
        yield (
            conductor,
            [
                {"host": ref.host, "name": ref.name, "role": role, **fact.environment}
                | of_roles[role]
                for ref, role, fact in zip(refs, roles, facts, strict=True)
            ],
        )


def facts_of(refs: Sequence[HostRef]) -> list[Facts]:
    """The facts about each host. Raises UsageError where one does not tell them."""
    said = answers(refs, [each.ask("facts") for each in refs], "asked what it is")
    return [read_of(ref, each, Facts, "of itself") for ref, each in zip(refs, said, strict=True)]


def read_of(ref: HostRef, said: bytes, kind: type[T], when: str) -> T:
    """What a host says. Raises UsageError where another tinygram says it in another form.

    `when` it says that, for the error.
    """
    try:
        return read(said, kind, f"what {ref.host} says {when}")
    except ValueError as error:
        raise UsageError(f"--cluster: {error}") from error


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
    token = secrets.token_bytes(TOKEN_BYTES)
    return [
        msgspec.json.encode(ServerOrder(each.host, clients, server_keys, client_keys, token))
        for each in refs
    ]


def _serving(
    refs: Sequence[HostRef], clients: int, server_keys: Keys, client_keys: Keys
) -> dict[str, int]:
    """Have all servers listen; return host → port."""
    orders = serve_orders(refs, clients, server_keys, client_keys)
    asked = [ref.ask("serve", order) for ref, order in zip(refs, orders, strict=True)]
    said = answers(refs, asked, "told to serve")
    return {
        ref.host: read_of(ref, each, Listening, "when told to serve").port
        for ref, each in zip(refs, said, strict=True)
    }


def _generating(
    servers: Sequence[HostRef],
    clients: Sequence[HostRef],
    ports: Mapping[str, int],
    keys: Keys,
    plan: Plan,
) -> list[_Generator]:
    """Have all generators connect; they are dealt out to the servers in turn."""
    generators = [
        _Generator(ref, servers[number % len(servers)].host) for number, ref in enumerate(clients)
    ]
    asked = []
    workload = plan.cases[0].workload
    for number, each in enumerate(generators):
        port = ports[each.server]
        order = GeneratorOrder(workload, each.server, port, keys, plan.seed, number)
        asked.append(each.ask("generate", msgspec.json.encode(order)))
    answers(clients, asked, "connecting to its server")
    return generators


def _tell(text: str) -> None:
    print(f"tinygram: --cluster: {text}", file=sys.stderr, flush=True)
