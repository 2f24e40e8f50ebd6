"""Reads which ways run, from `--runtime`, `--strategy` and `--only`.

`--only` takes KEY=VALUE,… or names as in the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.strategies import parse_strategy

Named = dict[str, list[str]]
"""Key → the values that were named, each once; no values: any value will do."""
BY_HAND = "stdlib"
NATIVE = "native"
_REMARKS = re.compile(r"( \((limit|\d+ of \d+)\))+$")
"""Remarks after a way's name in the tables, which may be copied with it."""


def parse_only(
    only: Iterable[str],
    known: Mapping[str, Sequence[str]],
    example: str,
    *,
    runtimes: Iterable[str] = (),
    strategies: Iterable[str] = (),
) -> tuple[Named, ...]:
    """The named values of `known`, key → its values, and strategies. Raises UsageError.

    There is one `Named` for each way that is named as in the tables, such as
    `asyncio/tinygram/adaptive`; otherwise one for all KEY=VALUE, `runtimes` and `strategies`
    together.
    """
    parts = [_REMARKS.sub("", part.strip()) for text in only for part in text.split(",")]
    named: Named = {key: [] for key in (*known, "strategy")}
    for key, values in (("runtime", runtimes), ("strategy", strategies)):
        for value in values:
            _add(named, known, key, value, f"--{key} {value}")
    if any("/" in part for part in parts):
        if any(named.values()):
            raise UsageError(
                "--runtime and --strategy do not go with whole names in --only "
                f"({', '.join(parts)}), which give both: leave out one of them"
            )
        return tuple(_way(part, known) for part in dict.fromkeys(parts))
    for part in parts:
        key, equals, value = part.partition("=")
        if key not in named or not equals:
            raise UsageError(
                f"--only {part!r} is not KEY=VALUE with one of the keys {', '.join(named)}, nor a "
                f"name that the tables show: for example --only {example}, or --only "
                "loop/nodelay"
            )
        _add(named, known, key, value, f"--only {part!r}")
    return (named,)


def in_words(named: Named) -> str:
    """The named values as a user may write them: `runtime=asyncio, strategy=nagle`."""
    return ", ".join(f"{key}={value}" for key, values in named.items() for value in values)


def _way(text: str, known: Mapping[str, Sequence[str]]) -> Named:
    """Read `runtime/strategy`, or `runtime/server:BUFFER/strategy` where servers are known.

    An implementation other than by hand stands after the runtime. A server without a strategy is
    `nodelay`, and one without a buffer may have any. Raises UsageError.
    """
    named: Named = {key: [] for key in (*known, "strategy")}
    option = f"--only {text!r}"
    runtime, *rest = text.split("/")
    _add(named, known, "runtime", runtime, option)
    if rest and rest[0] in known["implementation"] and rest[0] != runtime:
        _add(named, known, "implementation", rest.pop(0), option)
    elif runtime != NATIVE:
        own = [each for each in (BY_HAND, runtime) if each in known["implementation"]]
        named["implementation"] = own
    if "server" in known:
        server, colon, buffer = rest.pop(0).partition(":") if rest else ("", "", "")
        _add(named, known, "server", server, option)
        named["buffer"] = [buffer] if colon else []
        rest = rest or ([] if server == runtime else ["nodelay"])
    if len(rest) > 1 or (not rest and "server" not in known):
        raise UsageError(f"--only {text!r} is not a name that the tables show")
    for strategy in rest:
        _add(named, known, "strategy", strategy, option)
    return named


def _add(
    named: Named, known: Mapping[str, Sequence[str]], key: str, value: str, option: str
) -> None:
    if key == "strategy":
        try:
            parse_strategy(value)
        except UsageError as error:
            raise UsageError(f"{option}: {error}") from error
    elif value not in known[key]:
        raise UsageError(
            f"{option}: unknown {key} {value!r}; the known ones are {', '.join(known[key])}"
        )
    if value not in named[key]:
        named[key].append(value)
