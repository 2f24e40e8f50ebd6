"""The receiver keeps up with a native sender, and checks every byte.

Target: 2 GB/s (best of 5).
"""

from __future__ import annotations

import sys

from pairs import bench, bytes_per_s, flat_out_case, verdict

_ONLY = "runtime=native,strategy=tick"
_MESSAGES = 4_000_000


def main() -> int:
    case = flat_out_case(_ONLY, _MESSAGES)
    with bench() as stream:
        best = max(bytes_per_s(stream.run_case(case, 0)) for _ in range(5))
    is_fast = verdict("receiver, best of 5", best >= 2e9, f"{best / 1e9:.2f} GB/s, asked 2")
    return 0 if is_fast else 1


if __name__ == "__main__":
    sys.exit(main())
