"""A look at a cluster before it measures: its hosts, their versions, and the paths between them.

The first host stands for a server: paths are those from each other host to it, and back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from typing import TypeVar

import msgspec
from msgspec import Struct

import tinygram
from tinygram_bench.cluster.order import Facts, PathFacts, SinkFacts, ToPath, read
from tinygram_bench.cluster.ray_hosts import Cluster, HostRef, Node
from tinygram_bench.cluster.running import serve_orders
from tinygram_bench.hosts.keys import Keys, make_keys
from tinygram_bench.processes.orders import Listening

_ANSWER_S = 8.0

T = TypeVar("T")


class SeenHost(Struct, frozen=True):
    """A host, and what was found about it; `failure`: why that is not known.

    `to_first`: its path to the first host, `from_first`: the way back; None for the first host.
    """

    node: Node
    facts: Facts | None = None
    to_first: PathFacts | None = None
    from_first: PathFacts | None = None
    failure: str | None = None


def seen(cluster: Cluster) -> list[SeenHost]:
    """Every host of the cluster. No host is waited for longer than some seconds."""
    server_keys, client_keys = make_keys()
    with cluster.everywhere() as refs:
        facts = _each(refs, lambda ref: ref.ask("facts"), Facts)
        orders = dict(
            zip(refs, serve_orders(refs, len(refs), server_keys, client_keys), strict=True)
        )
        able = [ref for ref, fact in zip(refs, facts, strict=True) if _is_of_ours(fact)]
        served = _each(able, lambda ref: ref.ask("serve", orders[ref]), Listening)
        ports = dict(zip(able, served, strict=True))
        found = []
        first: tuple[HostRef, int] | None = None
        for node, ref, fact in zip(cluster.nodes, refs, facts, strict=True):
            listening = ports.get(ref)
            if isinstance(fact, Facts) and not _is_of_ours(fact):
                found.append(SeenHost(node, fact))
                continue
            if not isinstance(fact, Facts) or not isinstance(listening, Listening):
                found.append(SeenHost(node, failure=str(fact if listening is None else listening)))
                continue
            here = ref, listening.port
            if first is None:
                first = here
                found.append(SeenHost(node, fact))
                continue
            there = _path(ref, first, client_keys)
            back = _path(first[0], here, client_keys)
            faults = [each for each in (there, back) if isinstance(each, str)]
            found.append(
                SeenHost(
                    node,
                    fact,
                    there if isinstance(there, PathFacts) else None,
                    back if isinstance(back, PathFacts) else None,
                    faults[0] if faults else None,
                )
            )
    return found


def faults(hosts: Sequence[SeenHost]) -> Iterator[str]:
    """A sentence for each fault that must be mended before the cluster can measure."""
    usable = [each for each in hosts if each.facts and each.node.cores >= 1]
    for each in hosts:
        if each.failure is not None:
            yield f"{each.node.host}: {each.failure}"
        elif each.facts is not None and not _is_of_ours(each.facts):
            yield (
                f"{each.node.host} has tinygram {each.facts.tinygram}, and this host "
                f"{tinygram.__version__}: install the same version on all hosts"
            )
    if len(usable) < 2:
        yield (
            f"{len(usable)} of its hosts could measure, and a server and a generator are the "
            "fewest: add hosts that have a core for us, by `ray start --address=…`"
        )


def remarks(hosts: Sequence[SeenHost]) -> Iterator[str]:
    """Sentences on what may make figures differ between hosts."""
    facts = [(each.node.host, each.facts) for each in hosts if each.facts is not None]
    for what, value_of in _COMPARED.items():
        values = Counter(value_of(each) for _, each in facts)
        usual = values.most_common(1)[0][0] if values else ""
        others = [f"{host} has {value_of(each)}" for host, each in facts if value_of(each) != usual]
        if others:
            yield f"{what} differs: {', '.join(others)}, the others {usual}"


_COMPARED: dict[str, Callable[[Facts], str]] = {
    "Python": lambda facts: facts.python,
    "the kernel": lambda facts: facts.kernel,
    "the processor": lambda facts: str(facts.environment.get("cpu_model")),
}


def _is_of_ours(fact: Facts | str) -> bool:
    """Whether a host has this version of tinygram: other versions do not work with it."""
    return isinstance(fact, Facts) and fact.tinygram == tinygram.__version__


def _path(ref: HostRef, to: tuple[HostRef, int], keys: Keys) -> PathFacts | str:
    """The path from one host to another, or why it is not known."""
    other, port = to
    (sink,) = _each([other], lambda each: each.ask("sink", _json(each.host)), SinkFacts)
    if isinstance(sink, str):
        return f"{other.host}: {sink}"
    order = _json(ToPath(other.host, port, keys, sink))
    (found,) = _each([ref], lambda each: each.ask("path", order), PathFacts)
    return found


def _json(order: object) -> bytes:
    return msgspec.json.encode(order)


def _read(said: bytes, kind: type[T]) -> T | str:
    try:
        return read(said, kind)
    except ValueError as error:
        return str(error)


def _each(
    refs: Sequence[HostRef], ask: Callable[[HostRef], Future[bytes]], kind: type[T]
) -> list[T | str]:
    """The answer of each host, or why it did not answer."""
    asked = [ask(ref) for ref in refs]
    wait(asked, _ANSWER_S)
    found: list[T | str] = []
    for future in asked:
        if not future.done():
            found.append(f"it did not answer in {_ANSWER_S:g} s")
        elif (error := future.exception()) is not None:
            found.append(str(error))
        else:
            found.append(_read(future.result(), kind))
    return found
