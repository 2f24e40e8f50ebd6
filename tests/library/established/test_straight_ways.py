"""TLS that calls OpenSSL and the kernel itself does what asyncio's own does, over a real socket."""

from __future__ import annotations

import gc
import random
import socket
import ssl
from asyncio.selector_events import _SelectorSocketTransport  # type: ignore[attr-defined]
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable
from typing import Any
from weakref import ref

import pytest
from tests.library.established import test_short_ways as scenarios
from tests.library.established.ends import Contexts, tls_1_2, tls_1_3
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


def the_transport_below_takes_nothing(it: SocketEnds) -> None:
    it.below._empty_waiter = it.loop.create_future()
    # A transport that has bytes of its own is handed what TLS writes.
    it.below._buffer.extend(b"x")
    it.write(b"one")
    it.below._buffer.clear()
    assert it.faults == ["RuntimeError('unable to write; sendfile is in progress')"]


def _reacting(on: str, name: str) -> Callable[[SocketEnds], None]:
    def reacts(it: SocketEnds) -> None:
        acts: dict[str, Callable[[], object]] = {
            "abort": it.transport.abort,
            "close": it.transport.close,
            "pause": it.transport.pause_reading,
            "write": lambda: it.write(b"x"),
        }
        it.above.reactions[on] = acts[name]
        it.arrive(it.records(b"one", b"two"))
        it.above.reactions.clear()
        it.arrive(it.records(b"three"))
        if name == "pause":
            it.transport.resume_reading()
        it.turn()

    reacts.__name__ = f"{name}_on_{on}"
    return reacts


def a_full_buffer_and_the_end(it: SocketEnds) -> None:
    it.above.buffer = memoryview(bytearray(4))
    it.arrive(it.records(b"last") + it.farewell())
    it.turn()
    assert it.above.told[:2] == [b"last", "eof"]


def a_large_message(it: SocketEnds) -> None:
    it.write(b"x" * (1 << 20) + b"y")
    while it.below.get_write_buffer_size():
        it.collect()
        it.turn()
    assert it.stream == (b"x" * (1 << 20) + b"y", False)


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
    the_transport_below_takes_nothing,
    a_full_buffer_and_the_end,
    a_large_message,
    *(
        _reacting(on, name)
        for on in ("buffer", "data")
        for name in ("abort", "close", "pause", "write")
    ),
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


def _joined(told: list[object]) -> list[object]:
    """What a protocol was told; what came, in how many pieces ever the kernel had it, as one."""
    found: list[object] = []
    for each in told:
        if isinstance(each, bytes) and found and isinstance(found[-1], bytes):
            found[-1] += each
        else:
            found.append(each)
    return found


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("contexts", [tls_1_2, tls_1_3], ids=lambda each: each.__name__)
def test_the_straight_ways_do_what_asyncios_own_do(
    contexts: Callable[[], Contexts], scenario: Callable[[Any], None]
) -> None:
    seen = []
    for is_straight in (False, True):
        with socket_ends(is_straight, contexts=contexts) as it:
            scenario(it)
            it.turn()
            told = _joined(it.above.told), it.above.lost_for, it.reports, it.stream
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


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_is_let_through(error: type[BaseException]) -> None:
    def stop() -> None:
        raise error

    with socket_ends(is_straight=True) as it:
        it.above.reactions["data"] = stop
        with pytest.raises(error):
            it.arrive(it.records(b"one"))
        assert not it.faults


def test_a_connection_that_is_lost_is_freed_at_once() -> None:
    """Each has a buffer of 256 KiB."""
    gc.disable()
    try:
        with socket_ends(is_straight=True) as it:
            it.arrive(it.records(b"one"))
            straight = it._writer.write
            it.below.abort()
            it.turn()
            tls = ref(it.tls)
            del straight, it.tls, it._writer, it.transport
            assert tls() is None
            it.tls = it.transport = it._writer = None
    finally:
        gc.enable()


def test_a_connection_whose_loop_is_dropped_is_collected() -> None:
    with socket_ends(is_straight=True) as it:
        it.arrive(it.records(b"one"))
        tls = ref(it.tls)
        it.loop._remove_reader(it.socket.fileno())  # type: ignore[attr-defined]
        it.loop._transports.clear()  # type: ignore[attr-defined]
        below = it.below
        del it.tls, it._writer, it.transport, it.below
        below._sock = None
        del below
        gc.collect()
        assert tls() is None
        it.below = it.tls = Nothing()


class Nothing:
    """What is left of a transport that was freed."""

    def abort(self) -> None:
        return


def test_a_program_that_listens_to_messages_of_tls_keeps_the_short_ways() -> None:
    """OpenSSL would call Python code while memory of Python is lent to it."""
    with socket_ends(is_straight=False) as it:
        context = it.tls._sslobj.context
        context._msg_callback = lambda *_: None
        assert type(established(it.transport)) is EstablishedTls
        context._msg_callback = None
        assert isinstance(established_again(it), _native.StraightTls)


def established_again(it: SocketEnds) -> Any:
    it.tls.__class__ = SSLProtocol
    return established(it.transport)


def test_the_protocol_is_told_how_much_has_come() -> None:
    with socket_ends(is_straight=True) as it:
        ciphertext = it.records(b"one", b"two")
        it.arrive(ciphertext)
        assert (it.above.sizehints, it.above.told) == ([len(ciphertext)], [b"onetwo"])


class Forgetful:
    """What encrypts, in a Python that clears OpenSSL's errors before it asks again."""

    def __init__(self, answer: int | Exception) -> None:
        self._answer = answer

    def read(self, _size: int, _buffer: object) -> int:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.mark.parametrize("answer", [0, 5, ssl.SSLWantReadError(2, "more"), ssl.SSLError(1, "x")])
def test_a_connection_that_has_failed_ends_though_ssl_has_forgotten_why(
    answer: int | Exception,
) -> None:
    with socket_ends(is_straight=True) as it:
        it.tls._sslobj = Forgetful(answer)
        it.arrive(b"\x17\x03\x03\x00\x20" + bytes(32))
        (reason,) = it.above.lost_for
        is_why = isinstance(answer, ssl.SSLError) and answer.errno == 1
        assert reason == (repr(answer) if is_why else "SSLError('the TLS connection failed')")
        assert not it.above.received


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
