"""The receiving process, `tg-receiver`: it meets the sender, reads, checks, and leaves its notes.

It takes a `ReceiverOrder` for each stream, answers its port, unless the sender listens, and then
its counters. With options it receives one stream, and prints what is described below.

`--receiver-command` puts another program in its place. It is run with the same options, and must:
listen on 127.0.0.1, or over a link on HOST; print `listening PORT`; accept one connection and read
it to its end; write a note per read to the file NOTES (pairs of little-endian u64: bytes so far,
CLOCK_MONOTONIC in ns after the read returned); where there are several producers, write to the file
TURNS a byte for each message as it comes, its producer's number, which is its first byte; print one
line of JSON, an object of whole numbers (may be empty); exit 0 if every byte was the one that was
sent (`_native.StreamCheck` tells), otherwise 1 with the reason as the last line on stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack

from tinygram_bench import _native
from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.loads.source import message_pool
from tinygram_bench.processes.attached import settle
from tinygram_bench.processes.orders import Arrived, Orders, carry_out, leave
from tinygram_bench.tls.certificates import Identity
from tinygram_bench.workloads.stream.meeting import met
from tinygram_bench.workloads.stream.order import ReceiverOrder

Announce = Callable[[int, str | None], None]
"""Gets the port on which the receiver listens, and the certificate that it shows, if any."""


def main() -> int:
    """Receive what is asked for; the exit status is 1 if the bytes are not those that were sent."""
    if len(sys.argv) > 1:
        return _receive_alone(_parser().parse_args())
    return carry_out("tg-receiver", ReceiverOrder, _receive)


def _receive(order: ReceiverOrder, orders: Orders) -> None:
    orders.say(receive(order, orders.announce, lambda: orders.say(Arrived())))


def receive(
    order: ReceiverOrder,
    announce: Announce,
    tell_arrived: Callable[[], None] = lambda: None,
    *,
    checks: bool = True,
) -> dict[str, int]:
    """Receive one stream, leave its notes, and return the counters.

    `announce` gets the port, where this end listens; `tell_arrived` is called when the whole
    warm-up of an encrypted stream has arrived. Raises OSError, also where a byte was not the one
    that was sent, if it `checks` them.
    """
    if order.tls is not None:
        return _receive_tls(order, order.tls, announce, tell_arrived)
    if order.connections > 1:
        return _receive_on_many(order, announce)
    pool = message_pool(order.seed, order.min_bytes, order.max_bytes, order.producers)
    check = _native.StreamCheck(pool, order.messages, order.may_end_early)
    receiver, met_counters = _met(order, announce)
    counters = receiver.receive(
        check,
        order.messages,
        order.warm_up,
        order.receive_buffer_bytes,
        checks,
    )
    leave(order.notes_fd, receiver.notes())
    if order.producers > 1:
        leave(order.turns_fd, receiver.turns())
    return dict(counters) | met_counters


def _receive_on_many(order: ReceiverOrder, announce: Announce) -> dict[str, int]:
    raise_descriptor_limit()
    pool = message_pool(order.seed, order.min_bytes, order.max_bytes, connections=order.connections)
    receiver, met_counters = _met(order, announce)
    counters = receiver.receive_on_many(
        pool,
        order.messages,
        order.warm_up,
        order.receive_buffer_bytes,
        order.may_end_early,
    )
    leave(order.notes_fd, receiver.notes())
    leave(order.turns_fd, receiver.turns())
    return dict(counters) | met_counters


def _met(order: ReceiverOrder, announce: Announce) -> tuple[_native.Receiver, dict[str, int]]:
    """The native receiver of the connections, and counters of meeting. Raises OSError."""
    if order.listens:
        receiver = _native.Receiver(order.congestion_control, order.host, order.client.admission)
        announce(receiver.port, None)
        return receiver, {}
    ends = met(order, lambda port: announce(port, None))
    receiver = _native.Receiver.connected([sock.fileno() for sock in ends.sockets])
    for sock in ends.sockets:
        sock.close()
    return receiver, ends.counters


def _receive_tls(
    order: ReceiverOrder, identity: Identity, announce: Announce, tell_arrived: Callable[[], None]
) -> dict[str, int]:
    # Imported only here: most receivers decrypt nothing, and start sooner without it.
    from tinygram_bench.workloads.stream.tls_receiver import receive_encrypted

    ends = met(order, lambda port: announce(port, identity.certificate))
    received = receive_encrypted(order, ends, identity, tell_arrived)
    leave(order.notes_fd, received.notes)
    leave(order.turns_fd, received.turns)
    return received.counters


def _receive_alone(options: argparse.Namespace) -> int:
    settle("tg-receiver", options.parent, options.cpu)
    with ExitStack() as stack:
        notes = stack.enter_context(open(options.notes, "wb"))
        turns = stack.enter_context(open(options.turns or os.devnull, "wb"))
        order = ReceiverOrder(
            messages=options.messages,
            warm_up=options.warm_up,
            min_bytes=options.min_bytes,
            max_bytes=options.max_bytes,
            seed=options.seed,
            receive_buffer_bytes=options.receive_buffer,
            congestion_control=options.congestion_control,
            producers=options.producers,
            notes_fd=notes.fileno(),
            turns_fd=turns.fileno(),
            host=options.host,
            may_end_early=options.may_end_early,
        )
        try:
            counters = receive(order, _print_port, checks=not options.no_check)
        except OSError as error:
            print(error, file=sys.stderr)
            return 1
    print(json.dumps(counters), flush=True)
    return 0


def _print_port(port: int, _certificate: str | None) -> None:
    print(f"listening {port}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Receive one stream of a tinygram bench.")
    parser.add_argument("--messages", type=int, required=True, help="messages in the stream")
    parser.add_argument(
        "--may-end-early", action="store_true", help="the stream may end after any message"
    )
    parser.add_argument("--warm-up", type=int, default=0, help="how many of them warm up")
    parser.add_argument("--min-bytes", type=int, required=True, help="smallest message")
    parser.add_argument("--max-bytes", type=int, required=True, help="largest message")
    parser.add_argument("--seed", type=int, required=True, help="the message pool's seed")
    parser.add_argument("--receive-buffer", type=int, required=True, help="bytes per read at most")
    parser.add_argument("--congestion-control", default="cubic", help="of the connection")
    parser.add_argument("--host", default="127.0.0.1", help="the IPv4 address to listen on")
    parser.add_argument("--notes", required=True, help="file that the notes are written to")
    parser.add_argument("--producers", type=int, default=1, help="how many write to the stream")
    parser.add_argument("--turns", help="file for whose each message was")
    parser.add_argument("--parent", type=int, required=True, help="process to die with")
    parser.add_argument("--cpu", type=int, help="core to stay on")
    parser.add_argument("--no-check", action="store_true", help="only to measure what checks cost")
    return parser


if __name__ == "__main__":
    sys.exit(main())
