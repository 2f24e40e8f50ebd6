"""Which servers run: what `--all` and `--only` leave of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tinygram.bench.errors import UsageError
from tinygram.bench.strategies import Strategy, parse_strategy
from tinygram.bench.workloads.echo.order import PER_READ
from tinygram.bench.workloads.echo.servers import SERVERS, Server
from tinygram.bench.workloads.only import Named, in_words, parse_only

EXTERNAL = "external"
"""The runtime, and the implementation, of a server that is not ours."""


def selected(
    only: Iterable[str], reply: str, *, has_all: bool, has_external: bool
) -> tuple[list[tuple[Server, Strategy]], bool]:
    """The servers of ours that run, and whether the one that is not ours does.

    What is named runs even where it is no default. Raises UsageError.
    """
    named = _parse_only(only)
    found = [way for known in SERVERS for way in _ways(known, named, reply, has_all)]
    runs_external = has_external and _names_external(named)
    if not found and not runs_external:
        there = "; ".join(f"{runtime}: {', '.join(names)}" for runtime, names in _there().items())
        raise UsageError(
            f"no server is {in_words(named)}: there are {there}; strategies other than nodelay and "
            "nagle are implementation=tinygram's"
        )
    return found, runs_external


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
        default = known.strategies.per_read if reply == PER_READ else known.strategies.per_message
        texts = known.strategies.known if has_all else default
    strategies = dict.fromkeys(map(parse_strategy, texts))
    return [(known, strategy) for strategy in strategies if known.supports(strategy)]


def _names_external(named: Named) -> bool:
    """It runs unless only others are named; it has one strategy, which we do not know."""
    return not named["strategy"] and all(
        not named[key] or EXTERNAL in named[key] for key in ("runtime", "implementation", "server")
    )


def _there() -> dict[str, dict[str, None]]:
    """Runtime → the names of its servers."""
    there: dict[str, dict[str, None]] = {}
    for known in SERVERS:
        there.setdefault(known.runtime, {})[known.name] = None
    return there


def _parse_only(only: Iterable[str]) -> Named:
    known = {
        "runtime": [*dict.fromkeys(server.runtime for server in SERVERS), EXTERNAL],
        "implementation": [*dict.fromkeys(server.implementation for server in SERVERS), EXTERNAL],
        "server": [*dict.fromkeys(server.name for server in SERVERS), EXTERNAL],
    }
    return parse_only(only, known, "runtime=asyncio,server=protocol")
