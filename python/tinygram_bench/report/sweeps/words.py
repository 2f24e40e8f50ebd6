"""The words for values, limits and ways of a sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from tinygram_bench.model.result import Case
from tinygram_bench.model.sweep import Limit, Parameter
from tinygram_bench.report.numbers import UNKNOWN, number, size
from tinygram_bench.statistics.figures.words import in_words
from tinygram_bench.statistics.sweeps.curves import Curve, Swept
from tinygram_bench.statistics.workloads.loads import way_of

_UNTOLD = (
    *("messages", "warm_up_messages", "slice_ns", "duration_ns", "link_backend", "timeout_ns"),
    *("server", "server_kind", "buffer_bytes"),
)
"""Parameters that follow from others, or that are in the name of a way."""


class Said(Struct, frozen=True):
    """A parameter in words. `value`: how one of its values is written."""

    noun: str
    value: Callable[[float], str]


def duration(value_us: float) -> str:
    """`10 µs`, `1.5 ms`, `2 s`."""
    for scale, unit in ((1e6, "s"), (1e3, "ms")):
        if value_us >= scale:
            return f"{value_us / scale:.4g} {unit}"
    return f"{value_us:.4g} µs"


SAID: Mapping[Parameter, Said] = {
    "rate": Said("rate", lambda value: f"{value:,.6g}/s" if value < 1e3 else f"{value:,.0f}/s"),
    "hold": Said("hold", lambda value: duration(value / 1e3)),
    "size": Said("size", size),
    "rtt": Said("RTT", lambda value: duration(value / 1e3)),
}


def limit_in_words(limit: Limit) -> str:
    """`p99 latency below 1 ms`."""
    return f"{in_words(limit.figure)} below {duration(limit.below_us)}"


def labels_of(swept: Swept) -> dict[Curve, str]:
    """Names of the ways, without the swept value, each different from the others."""
    labels = {curve: _way(curve, swept.sweep.parameter) for curve in swept.curves}
    shared = {label for label, count in Counter(labels.values()).items() if count > 1}
    return {
        curve: label + _difference(curve.cases[0], [other.cases[0] for other in labels])
        if label in shared
        else label
        for curve, label in labels.items()
    }


def _way(curve: Curve, parameter: Parameter) -> str:
    case = curve.cases[0]
    is_swept = parameter == "hold" and case.strategy != curve.cases[-1].strategy
    name = case.strategy.partition(":")[0] if is_swept else case.strategy
    return way_of(msgspec.structs.replace(case, strategy=name))


def _difference(case: Case, others: Sequence[Case]) -> str:
    """Those values of the case's load and parameters that differ between the others."""
    told = [_told(each) for each in others]
    differing = [name for name in told[0] if len({str(each.get(name)) for each in told}) > 1]
    return "".join(f", {name} {_told(case).get(name, UNKNOWN)}" for name in differing)


def _told(case: Case) -> dict[str, Any]:
    parameters: dict[str, Any] = msgspec.structs.asdict(case.parameters)
    found = {
        name.removesuffix("_per_request").replace("_", " "): value
        for name, value in parameters.items()
        if name not in _UNTOLD
    }
    rate = {} if case.rate_per_s is None else {"rate": f"{number(case.rate_per_s)}/s"}
    sizes = sorted({case.message_bytes.min, case.message_bytes.max})
    return {"size": "–".join(map(size, sizes)), "link": case.link} | rate | found
