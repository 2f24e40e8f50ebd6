"""The receiver keeps up with a native sender, and checking every byte costs next to nothing.

Targets: 2 GB/s (best of 5), and at most 5 % less than with the comparison left out (paired).
"""

from __future__ import annotations

import sys

from pairs import bench, bytes_per_s, flat_out_case, paired_ratio, shown, verdict

_ONLY = "runtime=native,strategy=tick"
_MESSAGES = 4_000_000
_PAIRS = 25
_UNCHECKED = f"{sys.executable} -m tinygram_bench.workloads.stream.receiver --no-check"


def main() -> int:
    checked = flat_out_case(_ONLY, _MESSAGES)
    unchecked = flat_out_case(_ONLY, _MESSAGES, receiver_command=_UNCHECKED)
    with bench() as stream:
        best = max(bytes_per_s(stream.run_case(checked, 0)) for _ in range(5))
        is_fast = verdict("receiver, best of 5", best >= 2e9, f"{best / 1e9:.2f} GB/s, asked 2")
        ratio = paired_ratio(
            lambda: bytes_per_s(stream.run_case(checked, 0)),
            lambda: bytes_per_s(stream.run_case(unchecked, 0)),
            _PAIRS,
        )
    is_cheap = verdict(
        "speed with checks ÷ without", ratio.median >= 0.95, f"{shown(ratio)}, asked 0.95"
    )
    return 0 if is_fast and is_cheap else 1


if __name__ == "__main__":
    sys.exit(main())
