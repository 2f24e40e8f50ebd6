"""Selects the servers that run, by `--all` and `--only`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tinygram.strategies import Strategy
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.strategies import parse_strategy
from tinygram_bench.statistics.workloads.loads import EXTERNAL
from tinygram_bench.workloads.echo.order import PER_READ
from tinygram_bench.workloads.echo.servers import SERVERS, Server
from tinygram_bench.workloads.only import Named, in_words, parse_only

Selected = tuple[Server, Strategy, str | None]
"""A server, its strategy, and the only size of its buffer where one was named."""


def selected(
    only: Iterable[str],
    runtimes: Iterable[str],
    strategies: Iterable[str],
    reply: str,
    *,
    has_all: bool,
    has_external: bool,
    tls: bool = False,
) -> list[Selected]:
    """The servers of ours that run; one that is named runs even if it is no default.

    With `tls`, only those that can encrypt. Raises UsageError where there is none, nor an external
    one (`has_external`), which has an option of its own and always runs.
    """
    found: list[Selected] = []
    for named in _parse_only(only, runtimes, strategies):
        buffer = next(iter(named.get("buffer", [])), None)
        known_servers = [known for known in SERVERS if known.has_tls or not tls]
        ways = [
            (*way, buffer) for known in known_servers for way in _ways(known, named, reply, has_all)
        ]
        if not ways and not (has_external and _names_external(named)):
            there = "; ".join(
                f"{runtime}: {', '.join(names)}" for runtime, names in _there(known_servers).items()
            )
            wanted = in_words(named) + (" over TLS" if tls else "")
            raise UsageError(
                f"no server is {wanted}: there are {there}; strategies other than nodelay and "
                "nagle are implementation=tinygram's"
            )
        found += ways
    return list(dict.fromkeys(found))


def _ways(known: Server, named: Named, reply: str, has_all: bool) -> list[tuple[Server, Strategy]]:
    whose = {
        "runtime": known.runtime,
        "implementation": known.implementation,
        "server": known.name,
    }
    if any(named[key] and value not in named[key] for key, value in whose.items()):
        return []
    if not (has_all or known.is_default or named["implementation"]):
        return []
    texts: Sequence[str] = named["strategy"]
    if not texts:
        default = known.per_read if reply == PER_READ else known.per_message
        texts = known.strategies if has_all else default
    strategies = dict.fromkeys(map(parse_strategy, texts))
    return [(known, strategy) for strategy in strategies if known.supports(strategy)]


def _names_external(named: Named) -> bool:
    return any(EXTERNAL in named[key] for key in ("runtime", "implementation", "server"))


def _there(servers: Iterable[Server]) -> dict[str, dict[str, None]]:
    """Runtime → the names of its servers."""
    there: dict[str, dict[str, None]] = {}
    for known in servers:
        there.setdefault(known.runtime, {})[known.name] = None
    return there


def _parse_only(
    only: Iterable[str], runtimes: Iterable[str], strategies: Iterable[str]
) -> tuple[Named, ...]:
    known = {
        "runtime": [*dict.fromkeys(server.runtime for server in SERVERS), EXTERNAL],
        "implementation": [*dict.fromkeys(server.implementation for server in SERVERS), EXTERNAL],
        "server": [*dict.fromkeys(server.name for server in SERVERS), EXTERNAL],
    }
    return parse_only(
        only, known, "runtime=asyncio,server=protocol", runtimes=runtimes, strategies=strategies
    )
