"""Malformed, oversized and interrupted control traffic: refused, and the next is served."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from tests.hosts.far_server import (
    HELLO,
    LIMIT_S,
    all_of,
    answer_of,
    connected,
    line_of,
    welcomed,
)
from tests.support.serve_command import Serving, serving

from tinygram_bench.hosts.wire import MAX_ORDER_BYTES, VERSION

RECEIVER = "tinygram_bench.workloads.stream.receiver"
RR = "tinygram_bench.workloads.rr.server"
BEGIN = {
    "type": "Begin",
    "number": 0,
    "program": RECEIVER,
    "placement": "none",
    "counts_writes": False,
    "files": 2,
}
RECEIVE = {
    "messages": 10,
    "warm_up": 0,
    "min_bytes": 1,
    "max_bytes": 5,
    "seed": 1,
    "receive_buffer_bytes": 4096,
    "congestion_control": "reno",
    "producers": 1,
    "notes_fd": 0,
    "turns_fd": 0,
    "host": "0.0.0.0",
}
SENDER = BEGIN | {"program": "tinygram_bench.workloads.stream.sender", "files": 1}
SEND = {
    "port": 1,
    "runtime": "loop",
    "implementation": "stdlib",
    "strategy": ["nodelay"],
    "seed": 1,
    "min_bytes": 1,
    "max_bytes": 5,
    "messages": 10,
    "warm_up": 1,
    "pace": None,
    "congestion_control": "reno",
    "counter_fds": [0],
    "host": "192.0.2.1",
    "client": {"host": "192.0.2.2"},
}
PACE = {"rate_per_s": 10.0, "arrival": "constant", "burst": 1, "duration_ns": 1, "seed": 1}
SLICES = {"begins_ns": [0, 5], "slice_ns": 5, "settling_ns": 1}
SUBSCRIBERS = BEGIN | {"program": "tinygram_bench.workloads.fanout.subscribers", "files": 1}
SUBSCRIBE = {
    "report_fd": 0,
    "subscribers": 2,
    "message_bytes": 100,
    "seed": 1,
    "congestion_control": "reno",
    "host": "0.0.0.0",
    "timeout_ns": 10**9,
}
START = {"at_ns": 0, "slices": SLICES, "give_up_ns": 1}
AHEAD = {"since_ns": 0, "offset_ns": 1, "rate": 0.0, "bound_ns": 1}
KEY = {"certificate": "", "key": "-----BEGIN PRIVATE KEY-----"}


def tell(**changes: object) -> dict[str, object]:
    return {"type": "Tell", "number": 0, "order": RECEIVE | changes}


def send(**changes: object) -> list[object]:
    """A sender that is begun, and its order with these changes."""
    return [SENDER, {"type": "Tell", "number": 0, "order": SEND | changes}]


def subscribe(**changes: object) -> list[object]:
    """Subscribers that are begun, and their order with these changes."""
    return [SUBSCRIBERS, {"type": "Tell", "number": 0, "order": SUBSCRIBE | changes}]


def publish(**changes: object) -> list[object]:
    """Subscribers that listen, and the start of the slices with these changes."""
    return [*subscribe(), {"type": "Tell", "number": 0, "order": START | changes}]


GREETINGS: dict[str, bytes] = {
    "nothing": b"",
    "half a line": b'{"type":"Hello"',
    "no JSON": b"GET / HTTP/1.1\n",
    "JSON of another type": b"[]\n",
    "an order before the greeting": line_of(BEGIN),
    "bytes that are no UTF-8": b'{"type":"Hello","version":1,"tinygram":"\xff"}\n',
    "a line that is too long": b"x" * (2 * MAX_ORDER_BYTES),
    "another version": line_of(HELLO | {"version": VERSION + 1}),
    "another tinygram": line_of(HELLO | {"tinygram": "0.0.0"}),
    "a field too many": line_of(HELLO | {"more": 1}),
    "JSON that is nested deeply": b"[" * 50_000 + b"\n",
    "a TLS hello": bytes.fromhex("160301020001"),
}
ORDERS: dict[str, list[object]] = {
    "an unknown program": [BEGIN | {"program": "os"}],
    "a path for a program": [BEGIN | {"program": "../../bin/sh"}],
    "a number that is too large": [BEGIN | {"number": 1 << 16}],
    "too many files": [BEGIN | {"files": 4}],
    "a process twice": [BEGIN, BEGIN],
    "an unknown placement": [BEGIN | {"placement": "everywhere"}],
    "the greeting again": [HELLO],
    "no messages": [BEGIN, tell(messages=0)],
    "too many bytes": [BEGIN, tell(max_bytes=1 << 40)],
    "too many connections": [BEGIN, tell(connections=1 << 20)],
    "too many producers": [BEGIN, tell(producers=1 << 20)],
    "a negative size": [BEGIN, tell(min_bytes=-1)],
    "an unknown congestion control": [BEGIN, tell(congestion_control="x\0y")],
    "an order of another program": [BEGIN | {"program": RR, "files": 0}, tell()],
    "text for a number": [BEGIN, tell(messages="10")],
    "a key of the client's": [BEGIN, tell(tls=KEY)],
    "a sender of an unknown runtime": send(runtime="os"),
    "a sender of an unknown strategy": send(strategy=["sh"]),
    "a sender that holds for years": send(
        strategy=["coalesce", 1 << 60], implementation="tinygram"
    ),
    "a sender of no messages": send(messages=0),
    "a sender of messages that are too large": send(max_bytes=1 << 40),
    "a sender on too many connections": send(connections=1 << 20, runtime="native"),
    "a sender with producers that it has not": send(producers=2),
    "a sender of an unknown arrival": send(pace=PACE | {"arrival": "at once"}),
    "a sender without a rate": send(pace=PACE | {"rate_per_s": 0.0}),
    "a sender without slices": send(slices=SLICES | {"begins_ns": []}),
    "a sender of slices that overlap": send(slices=SLICES | {"begins_ns": [0, 4]}),
    "a sender of slices that never come": send(slices=SLICES | {"begins_ns": [1 << 62]}),
    "a sender with a certificate that is too long": send(certificate="x" * (1 << 15)),
    "a sender that writes no report": [SENDER | {"files": 0}, *send()[1:]],
    "too many subscribers": subscribe(subscribers=1 << 20),
    "messages that cannot have their time": subscribe(message_bytes=15),
    "messages that are too large": subscribe(message_bytes=1 << 30),
    "subscribers that wait for years": subscribe(timeout_ns=1 << 62),
    "subscribers that tell nothing": [SUBSCRIBERS | {"files": 0}, *subscribe()[1:]],
    "publications before there were clocks": publish(at_ns=-1),
    "publications for years": publish(give_up_ns=1 << 62),
    "publications in slices that overlap": publish(slices=SLICES | {"begins_ns": [0, 4]}),
    "a clock that is ahead by centuries": publish(difference=AHEAD | {"offset_ns": 1 << 63}),
    "a clock that runs backwards": publish(difference=AHEAD | {"rate": -1.0}),
    "a clock that drifts as none does": publish(difference=AHEAD | {"rate": 2e-3}),
    "a start that was never": [*send(), {"type": "Tell", "number": 0, "order": {"at_ns": -1}}],
    "half an order": [BEGIN, line_of(tell())[:-10]],
    "an order that is too long": [
        BEGIN,
        b'{"type":"Tell","number":0,' + b" " * 2 * MAX_ORDER_BYTES,
    ],
    "an order in two types": [b'{"type":"Begin","type":"Tell","number":0,"order":{}}\n'],
    "an order without values": [BEGIN, tell(), {"type": "Tell", "number": 0, "order": {}}],
    "a number that JSON has not": [BEGIN, b'{"type":"AskUsed","number":NaN}\n'],
}


@pytest.fixture(scope="module")
def served() -> Iterator[Serving]:
    with serving("--port", 0) as found:
        yield found


@pytest.mark.parametrize("name", GREETINGS)
def test_a_greeting_that_is_none_is_refused(served: Serving, name: str) -> None:
    with connected(served.port) as sock:
        try:
            sock.sendall(GREETINGS[name])
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # It has been turned away before it had said all.
        assert b"Welcome" not in all_of(sock)
    welcomed(served.port).close()


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_that_is_not_allowed_is_refused(served: Serving, name: str) -> None:
    with welcomed(served.port) as sock:
        for order in ORDERS[name]:
            with suppress(OSError):  # It has been refused before it had said all.
                sock.sendall(order if isinstance(order, bytes) else line_of(order))
        with suppress(OSError):
            sock.shutdown(socket.SHUT_WR)
        said = all_of(sock)
    assert b'"Refused"' in said
    welcomed(served.port).close()


def test_a_client_that_leaves_in_the_midst_leaves_no_process(served: Serving) -> None:
    with welcomed(served.port) as sock:
        for order in (BEGIN, tell()):
            sock.sendall(line_of(order))
        said = answer_of(sock)
        assert said["type"] == "Said"
        line = said["line"]
        assert isinstance(line, dict)
        port = line["port"]
    welcomed(served.port).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), LIMIT_S)


def test_the_server_listens_where_it_was_bound_whatever_an_order_says(served: Serving) -> None:
    with welcomed(served.port) as sock:
        for order in (BEGIN, tell(host="0.0.0.0")):
            sock.sendall(line_of(order))
        line = answer_of(sock)["line"]
        assert isinstance(line, dict)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", line["port"]), LIMIT_S)


@pytest.mark.parametrize("changes", [{}, {"pace": PACE, "slices": SLICES}, {"certificate": "x"}])
def test_a_sender_that_is_allowed_says_where_it_listens(
    served: Serving, changes: dict[str, object]
) -> None:
    with welcomed(served.port) as sock:
        for order in send(**changes):
            sock.sendall(line_of(order))
        answer = answer_of(sock)
    assert answer["type"] == "Said"
    assert isinstance(line := answer["line"], dict)
    assert line["port"] > 0
