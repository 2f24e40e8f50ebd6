"""TLS that calls OpenSSL and the kernel itself does what asyncio's own does, over a real socket."""

from __future__ import annotations

import random
import socket
import ssl
from asyncio.selector_events import _SelectorSocketTransport  # type: ignore[attr-defined]
from collections.abc import Callable
from typing import Any

import pytest
from tests.library.established import test_short_ways as scenarios
from tests.library.established.socket_ends import SocketEnds, socket_ends
from tests.library.wires import reset

from tinygram import _native
from tinygram.aio.established_tls import EstablishedTls, established


def a_broken_record(it: SocketEnds) -> None:
    it.arrive(it.records(b"whole") + b"\x17\x03\x03\x00\x20" + bytes(32))
    assert it.below.is_closing()


def a_broken_record_alone(it: SocketEnds) -> None:
    it.arrive(it.records(b"whole"))
    it.arrive(b"\x17\x03\x03\x00\x20" + bytes(32))
    it.write(b"too late")
    assert it.below.is_closing()


def what_is_no_tls(it: SocketEnds) -> None:
    it.arrive(b"GET / HTTP/1.1\r\n\r\n")
    assert it.below.is_closing()


def the_end_with_the_last_record(it: SocketEnds) -> None:
    it.arrive(it.records(b"last") + it.farewell())
    assert it.above.told[-2:] == [b"last", "eof"]
    assert it.sent() == [[b""]]


def the_stream_ends_untold(it: SocketEnds) -> None:
    it.arrive(it.records(b"last"))
    it.peer_socket.shutdown(socket.SHUT_WR)
    it.turn()
    assert it.below.is_closing()


def the_peer_resets(it: SocketEnds) -> None:
    reset(it.peer_socket)
    it.turn()
    it.write(b"too late")
    it.turn()
    assert it.below.is_closing()


def a_message_after_the_peer_reset(it: SocketEnds) -> None:
    reset(it.peer_socket)
    it.write(b"too late")
    it.turn()
    assert it.below.is_closing()


def aborted_on_a_record(it: SocketEnds) -> None:
    it.above.reactions["data"] = it.transport.abort
    it.arrive(it.records(b"one"))
    it.write(b"too late")
    assert it.sent() == []


def more_than_the_socket_takes(it: SocketEnds) -> None:
    message = random.Random(1).randbytes(1000) * 8_000
    it.write(message)
    it.write(b"then")
    assert "pause" in it.above.told
    while it.transport.get_write_buffer_size() or it.below.get_write_buffer_size():
        it.turn()
        it.collect()
    it.turn()
    assert it.above.told[-1] == "resume"
    it.write(b"last")
    assert it.stream == (message + b"then" + b"last", False)


def the_protocol_fails_on_a_record(it: SocketEnds) -> None:
    it.above.reactions["data"] = scenarios._fail
    it.arrive(it.records(b"one"))
    assert it.faults == ["ZeroDivisionError()"]
    assert it.below.is_closing()


def the_protocol_has_no_room(it: SocketEnds) -> None:
    it.above.buffer = bytearray()
    it.arrive(it.records(b"one"))


def the_buffer_may_not_be_written(it: SocketEnds) -> None:
    it.above.buffer = memoryview(b"x" * 100)
    it.arrive(it.records(b"one"))
    assert it.below.is_closing()


def the_buffer_is_of_words(it: SocketEnds) -> None:
    it.above.buffer = memoryview(bytearray(64)).cast("I")
    it.arrive(it.records(b"one"))


_OWN = [
    a_broken_record,
    a_broken_record_alone,
    what_is_no_tls,
    the_end_with_the_last_record,
    the_stream_ends_untold,
    the_peer_resets,
    a_message_after_the_peer_reset,
    aborted_on_a_record,
    more_than_the_socket_takes,
    the_protocol_fails_on_a_record,
    the_protocol_has_no_room,
    the_buffer_may_not_be_written,
    the_buffer_is_of_words,
]
_OF_A_TRANSPORT_THAT_TAKES_NOTES = {
    "a_broken_record",
    "a_message_on_being_resumed",
    "aborted_on_a_record",
    "messages_while_below_is_full",
    "nothing_is_written",
    "the_end_with_the_last_record",
    "the_stream_ends_untold",
    "the_transport_below_raises",
}
SCENARIOS: list[Callable[[Any], None]] = [
    *_OWN,
    *(
        each
        for each in scenarios.SCENARIOS
        if each.__name__ not in _OF_A_TRANSPORT_THAT_TAKES_NOTES
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_the_straight_ways_do_what_asyncios_own_do(scenario: Callable[[Any], None]) -> None:
    seen = []
    for is_straight in (False, True):
        with socket_ends(is_straight) as it:
            scenario(it)
            told = it.above.told, it.above.sizehints, it.faults, it.stream
            below = it.below.is_reading(), it.below.is_closing(), it.below._conn_lost
            seen.append((told, below, it.tls._state, it.tls._get_write_buffer_size()))
    own, straight = seen
    assert straight == own


def test_openssl_reads_and_writes_without_the_module_between() -> None:
    """A spy in the place of `ssl`'s own object would notice each call."""
    with socket_ends(is_straight=True) as it:
        it.tls._sslobj = None
        it.arrive(it.records(b"one", b"two"))
        it.write(b"reply")
        assert (it.above.received, it.sent()) == (b"onetwo", [[b"reply"]])
        assert not it.faults


def test_a_message_is_a_record() -> None:
    with socket_ends(is_straight=True) as it:
        it.above.reactions["data"] = lambda: it.write(b"reply")
        it.write(b"one")
        it.write(b"x" * 40_000)
        it.arrive(it.records(b"two", b"three"))
        records = [[len(record) for record in write] for write in it.sent()]
        assert records == [[3], [16_384, 16_384, 7_232], [5]]


def test_a_socket_that_the_program_closes_is_left_to_asyncio() -> None:
    """Its descriptor may be another file's by then."""
    with socket_ends(is_straight=False) as it:
        writer = established(it.transport, it.socket)
        assert isinstance(writer, _native.StraightTls)
        it.arrive(it.records(b"one"))
        assert it.above.received == b"one"
        fd = it.socket.fileno()
        it.loop._remove_reader(fd)  # type: ignore[attr-defined]
        it.socket.close()
        other, far = socket.socketpair()
        with other, far:
            assert fd in (other.fileno(), far.fileno())
            for each in (other, far):
                each.setblocking(False)
            writer.write(b"not for the other")
            writer.read_ready()
            for each in (other, far):
                with pytest.raises(BlockingIOError):
                    each.recv(100)
        assert it.below.is_closing()


def test_another_transport_keeps_the_short_ways() -> None:
    with socket_ends(is_straight=False) as it:
        it.below.__class__ = _OtherTransport
        own_reading = it.below._read_ready_cb
        assert type(established(it.transport)) is EstablishedTls
        assert it.below._read_ready_cb == own_reading


NOBODY: Any = object()


class _OtherTransport(_SelectorSocketTransport):  # type: ignore[misc]
    """Somebody's own."""


def test_encryption_of_a_socket_is_not_taken() -> None:
    """It reads and writes a descriptor, and not memory."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    ours, peer = socket.socketpair()
    with peer, context.wrap_socket(ours, do_handshake_on_connect=False) as wrapped:
        encryption = wrapped._sslobj  # type: ignore[attr-defined]
        assert _native.StraightTls.of(NOBODY, NOBODY, encryption, None) is None


def test_what_is_no_encryption_is_not_taken() -> None:
    assert _native.StraightTls.of(NOBODY, NOBODY, object(), None) is None
