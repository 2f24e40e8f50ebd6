"""The short ways of established TLS do what asyncio's own do: each scenario is played on both."""

from __future__ import annotations

import asyncio
import random
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable
from typing import Any

import pytest
from tests.library.established.ends import KIND, Ends, ends
from tests.library.wires import Pair, anonymous

import tinygram
from tinygram.aio.established_tls import EstablishedTls, established


class Streaming(asyncio.Protocol):
    """A protocol without a buffer."""

    received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data


def a_record_alone(it: Ends) -> None:
    it.arrive(it.records(b"one"))
    assert it.above.received == b"one"


def two_records_at_once(it: Ends) -> None:
    it.arrive(it.records(b"one", b"two"))
    assert it.above.received == b"onetwo"


def a_record_in_pieces(it: Ends) -> None:
    for byte in it.records(b"one"):
        assert not it.above.received
        it.arrive(bytes([byte]))
    assert it.above.received == b"one"


def a_record_and_a_half(it: Ends) -> None:
    first, second = it.records(b"one"), it.records(b"two")
    it.arrive(first + second[:9])
    assert it.above.received == b"one"
    it.arrive(second[9:])
    assert it.above.received == b"onetwo"


def more_than_the_buffer_holds(it: Ends) -> None:
    message = random.Random(1).randbytes(200_000)
    it.arrive(it.records(message))
    it.turn()
    assert it.above.received == message


def the_end_with_the_last_record(it: Ends) -> None:
    it.arrive(it.records(b"last") + it.farewell())
    assert it.above.told[-2:] == [b"last", "eof"]
    assert it.sent() == [[b""]]
    it.turn()
    assert "close" in it.below.told


def the_end_alone(it: Ends) -> None:
    it.arrive(it.records(b"last"))
    it.arrive(it.farewell())
    assert it.above.told[-1] == "eof"


def the_stream_ends_untold(it: Ends) -> None:
    it.arrive(it.records(b"last"))
    it.tls.eof_received()
    it.turn()


def a_broken_record(it: Ends) -> None:
    it.arrive(it.records(b"whole") + b"\x17\x03\x03\x00\x20" + bytes(32))
    assert it.below.told == ["end for SSLError"]


def a_reply_to_two_records(it: Ends) -> None:
    it.above.reactions["data"] = lambda: it.write(b"reply")
    it.arrive(it.records(b"one", b"two"))
    assert it.sent() == [[b"reply"]]


def a_message_of_many_records(it: Ends) -> None:
    it.write(b"x" * 100_000)
    (records,) = it.sent()
    assert [len(record) for record in records] == [16_384] * 6 + [1_696]


def nothing_is_written(it: Ends) -> None:
    it.write(b"")
    assert it.below.written == []


def messages_while_below_is_full(it: Ends) -> None:
    it.write(b"one")
    it.tls.pause_writing()
    it.write(b"two")
    it.write(b"three")
    assert it.above.told == ["pause"]
    assert it.transport.get_write_buffer_size() > 0
    it.tls.resume_writing()
    it.write(b"four")
    assert it.above.told == ["pause", "resume"]
    assert it.sent() == [[b"one"], [b"two", b"three"], [b"four"]]


def below_is_full_while_a_record_comes(it: Ends) -> None:
    it.above.reactions["data"] = lambda: it.write(b"reply")
    it.tls.pause_writing()
    it.arrive(it.records(b"one"))
    assert it.above.told[-1] == "pause"
    it.tls.resume_writing()
    assert it.sent() == [[b"reply"]]


def a_message_on_being_resumed(it: Ends) -> None:
    it.above.reactions["resume"] = lambda: it.write(b"then")
    it.tls.pause_writing()
    it.write(b"first")
    it.tls.resume_writing()
    assert it.sent() == [[b"first"], [b"then"]]


def reading_is_paused_meanwhile(it: Ends) -> None:
    it.above.reactions["data"] = it.transport.pause_reading
    it.arrive(it.records(b"one"))
    it.arrive(it.records(b"two", b"three"))
    assert it.above.received == b"one"
    it.transport.resume_reading()
    it.turn()
    assert it.above.received == b"onetwothree"


def much_comes_while_reading_is_paused(it: Ends) -> None:
    it.transport.pause_reading()
    for _ in range(20):
        it.arrive(it.records(b"x" * 16_000))
    # asyncio asks for it only when it reads again.
    it.transport.resume_reading()
    it.turn()
    assert it.above.received == b"x" * 320_000


def messages_after_the_end(it: Ends) -> None:
    it.transport.close()
    it.write(b"too late")
    it.turn()
    assert it.sent() == [[b""]]


def closed_on_a_record(it: Ends) -> None:
    it.above.reactions["data"] = it.transport.close
    it.arrive(it.records(b"one"))
    it.arrive(it.records(b"two"))
    it.turn()


def aborted_on_a_record(it: Ends) -> None:
    it.above.reactions["data"] = it.transport.abort
    it.arrive(it.records(b"one"))
    it.write(b"too late")
    assert it.below.told == ["end for NoneType"]
    assert it.below.written == []


def the_transport_below_raises(it: Ends) -> None:
    it.below.fault = RuntimeError("sendfile is in progress")
    it.write(b"one")
    assert it.faults == ["RuntimeError('sendfile is in progress')"]


def another_protocol_without_a_buffer(it: Ends) -> None:
    other = Streaming()
    it.transport.set_protocol(other)
    it.arrive(it.records(b"one", b"two"))
    assert other.received == b"onetwo"
    it.transport.set_protocol(it.above)
    it.arrive(it.records(b"three"))
    assert it.above.received == b"three"


def _fail() -> None:
    raise ZeroDivisionError


def _failing_in(name: str) -> Callable[[Ends], None]:
    def fails(it: Ends) -> None:
        it.above.reactions[name] = _fail
        it.arrive(it.records(b"one"))
        it.tls.pause_writing()
        it.write(b"reply")
        it.tls.resume_writing()
        it.arrive(it.farewell())
        it.turn()
        assert "ZeroDivisionError()" in it.faults

    fails.__name__ = f"the_protocol_fails_in_{name}"
    return fails


def _anything(seed: int) -> Callable[[Ends], None]:
    """Records of any length that come cut anywhere, and replies to what comes."""

    def comes(it: Ends) -> None:
        dice = random.Random(seed)
        messages = [dice.randbytes(dice.choice([1, 100, 16_384, 40_000])) for _ in range(30)]
        it.above.reactions["data"] = lambda: it.write(b"reply")
        ciphertext = it.records(*messages)
        while ciphertext:
            count = min(dice.choice([1, 20, 1_000, 50_000]), len(ciphertext))
            it.arrive(ciphertext[:count])
            ciphertext = ciphertext[count:]
            if dice.random() < 0.5:
                it.turn()
        it.turn()
        assert it.above.received == b"".join(messages)

    comes.__name__ = f"anything_{seed}"
    return comes


SCENARIOS = [
    a_record_alone,
    two_records_at_once,
    a_record_in_pieces,
    a_record_and_a_half,
    more_than_the_buffer_holds,
    the_end_with_the_last_record,
    the_end_alone,
    the_stream_ends_untold,
    a_broken_record,
    a_reply_to_two_records,
    a_message_of_many_records,
    nothing_is_written,
    messages_while_below_is_full,
    below_is_full_while_a_record_comes,
    a_message_on_being_resumed,
    reading_is_paused_meanwhile,
    much_comes_while_reading_is_paused,
    messages_after_the_end,
    closed_on_a_record,
    aborted_on_a_record,
    the_transport_below_raises,
    another_protocol_without_a_buffer,
    *(_failing_in(name) for name in ("buffer", "data", "eof", "pause", "resume")),
    *(_anything(seed) for seed in range(5)),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_the_short_ways_do_what_asyncios_own_do(scenario: Callable[[Ends], None]) -> None:
    seen = []
    for is_short in KIND:
        with ends(is_short) as it:
            scenario(it)
            told = it.above.told, it.above.sizehints, it.below.told, it.faults, it.sent()
            seen.append((told, it.tls._state, it.tls._conn_lost, it.tls._get_write_buffer_size()))
    own, short = seen
    assert short == own


def test_several_records_fill_a_bytearray() -> None:
    """asyncio's own way puts all but the first into a copy."""
    with ends(is_short=True, buffer=bytearray(1_000)) as it:
        it.arrive(it.records(b"one", b"two", b"three"))
        assert it.above.received == b"onetwothree"


def test_openssl_is_asked_for_no_more_than_has_come() -> None:
    """It would raise an exception, which takes as long as all the rest."""
    with ends(is_short=True) as it:
        asked = it.tls._sslobj = Asked(it.tls._sslobj._sslobj)
        for count, ciphertext in (1, it.records(b"one")), (2, it.records(b"two", b"three")):
            asked.reads = 0
            it.arrive(ciphertext)
            assert asked.reads == count
        assert it.above.received == b"onetwothree"


class Asked:
    """What encrypts and decrypts; it counts how often it is asked for plaintext."""

    def __init__(self, encryption: Any) -> None:
        self._encryption = encryption
        self._sslobj = self
        self.reads = 0

    def read(self, size: int, buffer: memoryview) -> int:
        self.reads += 1
        count: int = self._encryption.read(size, buffer)
        return count


class OtherEncryption(ssl.SSLObject):
    """A program's own."""


class OtherTls(SSLProtocol):
    """Somebody else's."""


@pytest.mark.parametrize("what", ["an attribute", "encryption", "class"])
def test_tls_that_is_not_known_stays_as_it_is(what: str) -> None:
    with ends(is_short=False) as it:
        if what == "an attribute":
            del it.tls._ssl_reading_paused
        elif what == "encryption":
            it.tls._sslobj.__class__ = OtherEncryption
        else:
            it.tls.__class__ = OtherTls
        kind = type(it.tls)
        assert established(it.transport) is it.transport
        assert type(it.tls) is kind
        it.tls._ssl_reading_paused = False


def test_the_tls_of_this_python_is_known(tcp: Pair) -> None:
    """Where this fails, a new Python has changed its TLS: see whether the short ways still fit."""

    async def kinds() -> list[type]:
        server, client = anonymous(ssl.PROTOCOL_TLS_SERVER), anonymous(ssl.PROTOCOL_TLS_CLIENT)
        loop = asyncio.get_running_loop()
        made: Any = await asyncio.gather(
            loop.connect_accepted_socket(asyncio.Protocol, tcp[0], ssl=server),
            loop.create_connection(asyncio.Protocol, sock=tcp[1], ssl=client, server_hostname=""),
        )
        found = [type(transport._inner._ssl_protocol) for transport, _ in made]
        for transport, _ in made:
            transport.abort()
        for _ in range(5):
            await asyncio.sleep(0)  # The ends are told, and close their sockets.
        return found

    with asyncio.Runner(loop_factory=tinygram.new_event_loop) as runner:
        assert runner.run(kinds()) == [EstablishedTls] * 2
