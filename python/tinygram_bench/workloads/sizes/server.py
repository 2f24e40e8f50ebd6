"""The far end, `tg-server`: listens, prints `listening PORT`, and answers.

With `--samples` it ends after so many, having compared every byte, and prints its counters as a
line of JSON; the exit status is 1 if a byte was not the one that was sent.
"""

from __future__ import annotations

import argparse
import json
import sys

from tinygram_bench import _native
from tinygram_bench.processes.attached import settle

MAX_MESSAGE_BYTES = 64 << 20
"""Refused above, unless told otherwise."""
MAX_MESSAGES = 10_000
"""Of a connection."""
MAX_CONNECTIONS = 512
"""At a time: a process may usually have 1,024 descriptors."""


def main() -> int:
    """Serve what is asked for."""
    options = _parser().parse_args()
    settle("tg-server", options.parent, options.cpu)
    server = _native.SizesServer(
        0,
        MAX_MESSAGE_BYTES,
        MAX_MESSAGES,
        MAX_CONNECTIONS,
        options.congestion_control,
        (options.seed, options.sample_bytes),
        options.host,
        options.client_host,
    )
    print(f"listening {server.port}", flush=True)
    try:
        counters = server.serve(options.samples)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(dict(counters)), flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Answer the samples of a tinygram bench.")
    parser.add_argument("--host", default="127.0.0.1", help="the IPv4 address to listen on")
    parser.add_argument("--client-host", help="the only IPv4 address to serve connections from")
    parser.add_argument("--samples", type=int, required=True, help="how many come")
    parser.add_argument("--sample-bytes", type=int, required=True, help="of the largest sample")
    parser.add_argument("--seed", type=int, required=True, help="of the messages' content")
    parser.add_argument("--congestion-control", default="cubic", help="of the connections")
    parser.add_argument("--parent", type=int, required=True, help="process to die with")
    parser.add_argument("--cpu", type=int, help="core to stay on")
    return parser


if __name__ == "__main__":
    sys.exit(main())
