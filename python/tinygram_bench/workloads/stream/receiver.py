"""The receiving process, `tg-receiver`: listens, says where, reads, checks, and leaves its notes.

`--receiver-command` puts another program in its place. It is run with these same options but
`--sender-host`, and must: listen on 127.0.0.1, or over a link on HOST; print `listening PORT`;
accept one connection and read it to its end; write a note per read to the file NOTES (pairs of
little-endian u64: bytes so far, CLOCK_MONOTONIC in ns after the read returned); where there are
several producers, write to the file TURNS a byte for each message as it comes, its producer's
number, which is its first byte; print one line of JSON, an object of whole numbers (may be empty);
exit 0 if every byte was the one that was sent (`_native.StreamCheck` tells), otherwise 1
with the reason as the last line on stderr.

With `--warm` alone it takes these options from stdin, a line with a JSON list of words for each
stream, and receives one after the other.
"""

from __future__ import annotations

import argparse
import json
import sys

from tinygram_bench import _native
from tinygram_bench.load.source import message_pool
from tinygram_bench.processes.attached import settle


def main() -> int:
    """Receive what is asked for; the exit status is 1 if it was not what was sent."""
    if sys.argv[1:] != ["--warm"]:
        return _receive(_parser().parse_args())
    for line in sys.stdin:
        status = _receive(_parser().parse_args(json.loads(line)))
        if status:
            return status
    return 0


def _receive(options: argparse.Namespace) -> int:
    """One stream."""
    settle("tg-receiver", options.parent, options.cpu)
    pool = message_pool(options.seed, options.min_bytes, options.max_bytes, options.producers)
    check = _native.StreamCheck(pool, options.messages)
    receiver = _native.Receiver(options.congestion_control, options.host)
    print(f"listening {receiver.port}", flush=True)
    try:
        counters = receiver.receive(
            check,
            options.messages,
            options.warm_up,
            options.receive_buffer,
            not options.no_check,
            options.sender_host,
        )
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    with open(options.notes, "wb") as notes:
        notes.write(receiver.notes())
    if options.turns is not None:
        with open(options.turns, "wb") as turns:
            turns.write(receiver.turns())
    print(json.dumps(dict(counters)), flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Receive one stream of a tinygram bench.")
    parser.add_argument("--messages", type=int, required=True, help="messages in the stream")
    parser.add_argument("--warm-up", type=int, default=0, help="how many of them warm up")
    parser.add_argument("--min-bytes", type=int, required=True, help="smallest message")
    parser.add_argument("--max-bytes", type=int, required=True, help="largest message")
    parser.add_argument("--seed", type=int, required=True, help="the message pool's seed")
    parser.add_argument("--receive-buffer", type=int, required=True, help="bytes per read at most")
    parser.add_argument("--congestion-control", default="cubic", help="of the connection")
    parser.add_argument("--host", default="127.0.0.1", help="the IPv4 address to listen on")
    parser.add_argument("--sender-host", help="the only IPv4 address to accept a connection from")
    parser.add_argument("--notes", required=True, help="file that the notes are written to")
    parser.add_argument("--producers", type=int, default=1, help="who write to the stream")
    parser.add_argument("--turns", help="file for whose each message was")
    parser.add_argument("--parent", type=int, required=True, help="process to die with")
    parser.add_argument("--cpu", type=int, help="core to stay on")
    parser.add_argument("--no-check", action="store_true", help="only to measure what checks cost")
    return parser


if __name__ == "__main__":
    sys.exit(main())
