"""`--only KEY=VALUE,…`: what it names of the ways that there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygram.bench.errors import UsageError
from tinygram.bench.strategies import parse_strategy

Named = dict[str, list[str]]
"""Key → the values that were named, each once."""


def parse_only(only: Iterable[str], known: Mapping[str, Iterable[str]], example: str) -> Named:
    """What was named of `known`, key → its values, and which strategies. Raises UsageError."""
    named: Named = {key: [] for key in (*known, "strategy")}
    for part in (part.strip() for text in only for part in text.split(",")):
        key, equals, value = part.partition("=")
        if key not in named or not equals:
            raise UsageError(
                f"--only {part!r} is not KEY=VALUE with one of the keys {', '.join(named)}: "
                f"for example --only {example}"
            )
        if key == "strategy":
            parse_strategy(value)
        elif value not in known[key]:
            raise UsageError(f"unknown {key} {value!r}: the known ones are {', '.join(known[key])}")
        if value not in named[key]:
            named[key].append(value)
    return named


def in_words(named: Named) -> str:
    """`runtime=asyncio, strategy=nagle`."""
    return ", ".join(f"{key}={value}" for key, values in named.items() for value in values)
