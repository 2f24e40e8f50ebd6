"""The server's process, `tg-server`: listens, says where, serves until told to end, and counts.

It takes a ServerOrder as a line of JSON, prints `listening PORT`, serves until there is more on
its standard input, or its end, and prints one line of JSON, an object of whole numbers.
"""

from __future__ import annotations

import json
import sys

import msgspec

from tinygram_bench import _native
from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.processes.attached import settle
from tinygram_bench.workloads.rr import serving
from tinygram_bench.workloads.rr.order import ServerOrder


def main() -> int:
    """Serve as told; the exit status is 1 when it cannot."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=ServerOrder)
    settle("tg-server", order.parent_pid, order.cpu)
    raise_descriptor_limit()
    try:
        content = _native.CallContent(order.request_bytes, order.reply_bytes, order.seed)
        counters = serving.serve(order, content, sys.stdin.fileno(), _announce)
    except OSError as failure:
        print(failure, file=sys.stderr)
        return 1
    print(json.dumps(counters), flush=True)
    return 0


def _announce(port: int) -> None:
    print(f"listening {port}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
