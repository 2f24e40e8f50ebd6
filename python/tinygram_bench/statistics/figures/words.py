"""The names of figures in words, with their units, for warnings and notes."""

from __future__ import annotations

from math import ceil

_STATISTICS = {
    "min": "least",
    "mean": "mean",
    "p50": "median",
    "p99": "p99",
    "p99_9": "p99.9",
    "p99_99": "p99.99",
    "max": "greatest",
}
_SAMPLED = {
    "queueing": "queueing time",
    "call": "call time",
    "connect": "connect time",
    "setup": "setup time",
    "transfer": "transfer time",
    "total": "total time",
    "part": "time of a round trip's part",
    "last": "time to the last subscriber",
}
_COUNTED = {
    "cpu_s_per_million": "CPU time per million messages",
    "receiver_cpu_s_per_million": "receiver's CPU time per million messages",
    "calls_per_s": "calls per second",
    "context_switches_per_million": "context switches per million messages",
    "cpu_us_per_call": "callers' CPU time per call",
    "server_cpu_us_per_call": "server's CPU time per call",
    "mb_per_s": "bandwidth",
    "total_mb_per_s": "bandwidth with connecting",
    "model_n_half_bytes": "message size of half the bandwidth",
    "model_n90_bytes": "message size of nine tenths of the bandwidth",
    "both_ways_mb_per_s": "bandwidth of both directions",
}
_UNITS = {
    "_mb_per_s": " MB/s",
    "_per_s": "/s",
    "_us": " µs",
    "_ms": " ms",
    "_s": " s",
    "_bytes": " B",
    "_percent": " %",
}


def rounded_up(us: float) -> str:
    """A bound in µs as text, in tenths, and never smaller than it is: `21.5`."""
    return f"{ceil(round(us * 10, 6)) / 10:,.1f}"


def in_words(figure: str) -> str:
    """A figure's name as a person says it: `queueing_p50_us` → `median queueing time`."""
    if figure in _COUNTED:
        return _COUNTED[figure]
    name = figure.removesuffix(_suffix_of(figure))
    for statistic, said in sorted(_STATISTICS.items(), key=lambda each: -len(each[0])):
        if name.endswith(f"_{statistic}"):
            sampled = name.removesuffix(f"_{statistic}")
            return f"{said} {_SAMPLED.get(sampled, sampled.replace('_', ' '))}"
    return name.replace("_", " ")


def unit_of(figure: str) -> str:
    """What to write after a value of it: ` µs`, `/s`, nothing for plain numbers."""
    return _UNITS.get(_suffix_of(figure), "")


def _suffix_of(figure: str) -> str:
    return next((suffix for suffix in _UNITS if figure.endswith(suffix)), "")
