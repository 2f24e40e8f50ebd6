"""Parsers of what others say or wrote, given anything: they refuse it, and raise nothing else.

FUZZ_SECONDS=600 has each group of parsers (TOGETHER) look for so long, with other examples each
time. Each parser of a group is given every line of it.
"""

from __future__ import annotations

import lzma
import os
import re
import socket
import ssl
import threading
import time
import tomllib
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from tests.hosts.fuzzing import of_sockets
from tests.hosts.fuzzing.lines import LINES, NOW_NS, TOKEN
from tests.hosts.test_false_servers import heard_after
from tests.processes.idle import IdleProcess, IdleTold

from tinygram_bench import _native
from tinygram_bench.cluster import order as cluster_order
from tinygram_bench.far.guest import wire_order
from tinygram_bench.far.programs import PROGRAMS, Here, RefusedError
from tinygram_bench.host.network.connections import Known
from tinygram_bench.hosts import wire
from tinygram_bench.hosts.address import parse_server
from tinygram_bench.hosts.clock import Clock, notes_here, notes_there
from tinygram_bench.hosts.difference import Difference, Followed
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.store.pages import MOST_BYTES, results_in
from tinygram_bench.processes.children import answers
from tinygram_bench.processes.orders import Arrived, End, Listening, Ready
from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.slices import Slices
from tinygram_bench.tls.certificates import Identity, new_identity
from tinygram_bench.tls.contexts import client_context, server_context
from tinygram_bench.tls.decrypting import Decrypting
from tinygram_bench.tls.records import Records
from tinygram_bench.workloads.echo import order as echo
from tinygram_bench.workloads.echo.marks import ServerUsed
from tinygram_bench.workloads.fanout import order as fanout
from tinygram_bench.workloads.fanout.order import Begin
from tinygram_bench.workloads.fanout.slices import read_heard
from tinygram_bench.workloads.rr import order as rr
from tinygram_bench.workloads.sizes import order as sizes
from tinygram_bench.workloads.stream.order import Order, ReceiverOrder, Report, Warm

ROOT = Path(__file__).parents[2]
SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
BEGUN = Begin(0, Slices((0,), 10, 1), 1)
CLIENT = Known("127.0.0.2", TOKEN)
HERES = [Here("127.0.0.1", CLIENT, (3, 4)[:count], max_connections=10) for count in range(3)]
LIMIT_S = 60.0
CLOCKS = [Followed([Difference(NOW_NS, offset_ns, 1e-6, 1)]) for offset_ns in (-NOW_NS, 0, 1 << 61)]


def order_of_every_program(line: bytes) -> None:
    for program in PROGRAMS:
        for here in HERES:
            try:
                order = program.order(line, here)
            except RefusedError:
                continue
            # Where it listens, and to whom, is never the client's to say.
            if isinstance(order, Order | ReceiverOrder):
                assert (order.host, order.port, order.client) == ("127.0.0.1", 0, CLIENT)


def greeting_that_is_none(line: bytes) -> None:
    found = wire.greeted(line)
    assert found is None or wire.greeting(found[1]).split()[:2] == line.split()[:2]


def address_of(line: bytes) -> None:
    text = line.decode(errors="replace")
    if any(each.isalpha() for each in text) and text.count(":") < 2:
        return  # A name would be looked up.
    parse_server(text)


def results_of_a_page(line: bytes) -> None:
    """The line is the page itself, what is packed in it, and what that unpacks to."""
    begin = b'<script type="application/x-tinygram-result" data-name="a">'
    for packed in (line, b64encode(line), b64encode(lzma.compress(line, preset=0))):
        with suppress(ValueError):
            for _, document in results_in(line + begin + packed + b"</script>"):
                assert len(document) <= MOST_BYTES


def answer_to_a_client(line: bytes) -> None:
    """After a `Welcome`: whatever a server says, the client's process ends when that is over."""
    ended, heard = heard_after(line.replace(b"\n", b" ") + b"\n")
    assert "welcomed" not in (ended.failure or "") or b'"Welcome"' in line or b'"Queued"' in line
    for answer in heard.splitlines():
        answer_of_a_far_process(answer)


def answer_of_a_far_process(line: bytes) -> None:
    """What a process answers, for each kind of answer that may be waited for."""
    line = line.replace(b"\n", b" ") + b"\n"
    for kind in _ANSWERED:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(line)
            told = IdleTold(IdleProcess("server"), ours)
            with suppress(RunError):
                answers([told], kind, time.monotonic() + LIMIT_S, "is late", [told])


def certificate_that_is_shown(line: bytes) -> None:
    client_context(line.decode(errors="replace"))


def notes_of_a_receiver(line: bytes) -> None:
    for found in CLOCKS:
        for convert in (notes_here, notes_there):
            with suppress(RunError):
                assert len(convert(line, found)) == len(line)


@contextmanager
def telling_times(line: bytes) -> Iterator[Clock]:
    """A clock that has told these bytes, whatever it was asked, and ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def tell() -> None:
            sock, _ = listener.accept()
            with sock, suppress(OSError):  # The other end may have heard enough.
                sock.recv(wire.TOKEN_BYTES, socket.MSG_WAITALL)
                sock.sendall(_native.Admission.ADMITTED + line)
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(1 << 16):
                    pass

        thread = threading.Thread(target=tell)
        thread.start()
        try:
            with closing(Clock("127.0.0.1", listener.getsockname()[1], TOKEN)) as clock:
                yield clock
        finally:
            thread.join()


def times_of_a_far_clock(line: bytes) -> None:
    """It tells the line again and again, for three looks: what is found fits into an order."""
    with telling_times(line * (1 + 2_000 // max(1, len(line)))) as clock:
        for _ in range(3):
            clock.look()
            for found in (clock.difference_now(), clock.onwards()):
                msgspec.json.encode([found, found.far_ns(NOW_NS), found.near_ns(NOW_NS)])
            with suppress(RunError):  # It has jumped.
                run = clock.followed(0)
                msgspec.json.encode([run.bound_ns, run.far_ns(NOW_NS), run.near_ns(NOW_NS)])


def cluster_host(line: bytes) -> None:
    for kind in _OF_A_CLUSTER:
        try:
            cluster_order.read(line, kind)
        except ValueError as error:
            assert "install the same version on all hosts" in str(error)  # noqa: PT017 - of each


def records_by_their_headers(line: bytes) -> None:
    """However they are cut: each header says where the next one is."""
    count = at = 0
    while at + 5 <= len(line):
        at += 5 + int.from_bytes(line[at + 3 : at + 5], "big")
        count += 1
    for length in (1, 4, 7, 1 << 20):
        found = Records()
        for begin in range(0, len(line), length):
            found.push(line[begin : begin + length])
        assert (found.count, found.wire_bytes) == (count, len(line))
        assert found.is_within_record == (at != len(line))


@cache
def identity() -> Identity:
    """One for all handshakes."""
    return new_identity()


def handshake_of_a_client(line: bytes) -> None:
    Decrypting(server_context(identity())).push(line)


def record_after_the_handshake(line: bytes) -> None:
    server = Decrypting(server_context(identity()))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = client_context(identity().certificate)
    client = context.wrap_bio(incoming, outgoing, server_hostname="tinygram")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    server.push(outgoing.read())
    incoming.write(server.answer())
    client.do_handshake()
    client.write(b"a record")
    found = server.push(outgoing.read() + line)
    # Nothing that was not encrypted passes for a record.
    assert found.records == [b"a record"]


_ANSWERED: tuple[Any, ...] = (
    *(Listening, Ready, Arrived, End, Warm, rr.Warm, fanout.Warm),
    *(dict[str, int], list[dict[str, int]], ServerUsed),
    *(rr.Report, echo.Report, list[sizes.Report], fanout.Report),
)
"""The kinds of answers that the bench waits for, most of them at the far end (children.py)."""
_OF_A_CLUSTER: tuple[Any, ...] = (
    cluster_order.ServerOrder,
    cluster_order.GeneratorOrder,
    cluster_order.BeginOrder,
    cluster_order.OfferOrder,
    tuple[cluster_order.Offered, ...],
    tuple[ServerUsed | None, ...],
    cluster_order.Measured,
    cluster_order.Other,
    cluster_order.SinkFacts,
    cluster_order.ToPath,
    cluster_order.Facts,
    cluster_order.PathFacts,
    *(Listening, Difference, int, list[int], str, None),
)
"""What the bench and a cluster's hosts say to each other."""
PARSERS: dict[str, tuple[Callable[[bytes], object], tuple[type[Exception], ...]]] = {
    "orders of the control connection": (wire_order, (RefusedError,)),
    "the client's first line": (wire.hello_of, (ValueError, RecursionError)),
    "answers of the server": (wire.answer_of, (ValueError, RecursionError)),
    "orders of programs": (order_of_every_program, ()),
    "the report of a far sender": (
        lambda line: msgspec.json.decode(line, type=Report),
        (ValueError, RecursionError),
    ),
    "what subscribers heard": (lambda line: read_heard(line, BEGUN), (RunError,)),
    "the notes of a receiver": (notes_of_a_receiver, ()),
    "answers of a far process": (answer_of_a_far_process, ()),
    "a certificate that is shown": (certificate_that_is_shown, (OSError,)),
    "times of a far clock": (times_of_a_far_clock, (RunError,)),
    "the greeting": (greeting_that_is_none, ()),
    "what is shown": (lambda line: wire.shown(line.decode(errors="replace")), ()),
    "an address": (address_of, (UsageError,)),
    "the results of a page": (results_of_a_page, ()),
    "the greeting on a connection": (of_sockets.greeting_in_front, ()),
    "the token of a data connection": (of_sockets.token_in_front, ()),
    "the answer to a token": (of_sockets.answer_to_a_token, ()),
    "the number of one of many connections": (of_sockets.number_in_front, ()),
    "bytes for a sink": (of_sockets.bytes_of_a_path, ()),
    "the total of a sink": (of_sockets.total_of_a_sink, ()),
    "what listens at a cluster's address": (of_sockets.frame_of_a_cluster, ()),
    "what a server says after its welcome": (answer_to_a_client, ()),
    "what a host of a cluster says": (cluster_host, ()),
    "records of TLS by their headers": (records_by_their_headers, ()),
    "the handshake of a client": (handshake_of_a_client, (OSError,)),
    "what follows the handshake": (record_after_the_handshake, (OSError,)),
}
EXAMPLES = {
    "what a server says after its welcome": 25,
    "times of a far clock": 50,
    "the handshake of a client": 50,
    "what follows the handshake": 25,
}
"""How many examples a parser gets; fewer than 200 where each makes a connection or a handshake."""
CHEAP = tuple(name for name in PARSERS if name not in EXAMPLES)
TOGETHER = (CHEAP, *((name,) for name in EXAMPLES))
"""The parsers that are given the same lines: to make a line takes longer than all of the cheap ones
take to parse it.
"""


@pytest.mark.parametrize("names", TOGETHER, ids=["the cheap ones", *EXAMPLES])
def test_a_parser_refuses_what_it_does_not_know_and_raises_nothing_else(
    names: tuple[str, ...],
) -> None:
    until_s = time.monotonic() + SECONDS
    examples = EXAMPLES.get(names[0], 200)

    @settings(max_examples=examples if not SECONDS else 25 * examples, derandomize=not SECONDS)
    @given(LINES)
    def check(line: bytes) -> None:
        for name in names:
            parse, refusals = PARSERS[name]
            try:
                parse(line)
            except refusals:
                continue
            except BaseException as error:
                error.add_note(f"It was raised by the parser of {name!r}.")
                raise

    check()
    while time.monotonic() < until_s:
        check()


def test_as_many_parsers_are_told_of_as_are_fuzzed() -> None:
    """On the page of security each native target has its time; pages name numbers in words."""
    page = (ROOT / "docs" / "security.md").read_text()
    targets = tomllib.loads((ROOT / "fuzz" / "Cargo.toml").read_text())["bin"]
    assert (len(targets), "fifteen in all" in page) == (15, True)
    assert sum(map(int, re.findall(r"^- (\d+) of the native targets", page, re.M))) == 15
    told = "".join((ROOT / name).read_text() for name in ("CONTRIBUTING.md", "Makefile"))
    assert (len(TOGETHER), "five groups" in page, told.count("five groups")) == (5, True, 2)
    files = {each.stem for each in (ROOT / "fuzz" / "fuzz_targets").rglob("*.rs")}
    assert {each["name"] for each in targets} == files
