"""Counting writes costs the sender under 2 %: the same runs with and without the preloaded library.

Where a write is cheapest and most frequent the cost is largest: one write per message, natively
and from Python.
"""

from __future__ import annotations

import sys

from pairs import bench, bytes_per_s, flat_out_case, paired_ratio, shown, verdict

from tinygram.bench.workloads.stream.run import StreamBench

_PAIRS = 25
_MESSAGES = 300_000


def main() -> int:
    with bench() as counting:
        silent = _Uncounted(counting.seed, counting.counting_fd)
        outcomes = [
            _compare(counting, silent, only)
            for only in ("runtime=native,strategy=nodelay", "runtime=loop,strategy=nodelay")
        ]
    return 0 if all(outcomes) else 1


def _compare(counting: StreamBench, silent: StreamBench, only: str) -> bool:
    case = flat_out_case(only, _MESSAGES)
    ratio = paired_ratio(
        lambda: bytes_per_s(counting.run_case(case, 0)),
        lambda: bytes_per_s(silent.run_case(case, 0)),
        _PAIRS,
    )
    what = f"{only}: speed counted ÷ not counted"
    return verdict(what, ratio.median > 0.98, f"{shown(ratio)}, asked above 0.98")


class _Uncounted(StreamBench):
    def _counting_environment(self) -> dict[str, str]:
        environment = super()._counting_environment()
        del environment["LD_PRELOAD"]
        return environment


if __name__ == "__main__":
    sys.exit(main())
