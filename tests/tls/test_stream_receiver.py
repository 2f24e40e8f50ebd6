"""The receiver that decrypts believes nobody: wrong bytes, certificates, connections are told."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable

import pytest

from tinygram_bench.host.network.connections import Known
from tinygram_bench.loads.source import message_pool
from tinygram_bench.tls.certificates import SERVER_NAME, new_identity
from tinygram_bench.tls.contexts import client_context
from tinygram_bench.workloads.stream.meeting import met
from tinygram_bench.workloads.stream.order import ReceiverOrder
from tinygram_bench.workloads.stream.tls_receiver import Received, receive_encrypted

IDENTITY = new_identity()
POOL = message_pool(1, 1, 50)
MESSAGES, WARM_UP = 20, 5
BYTES = b"".join(POOL.messages()[:MESSAGES])
WARM_UP_BYTES = POOL.stream_bytes(WARM_UP)
ARRIVED = threading.Event()
"""Set when the receiver tells that the warm-up has arrived."""
Send = Callable[[ssl.SSLSocket], object]


def order_with(sender_host: str | None = None) -> ReceiverOrder:
    return ReceiverOrder(
        messages=MESSAGES,
        warm_up=WARM_UP,
        min_bytes=1,
        max_bytes=50,
        seed=1,
        receive_buffer_bytes=4096,
        congestion_control="reno",
        producers=1,
        notes_fd=-1,
        turns_fd=-1,
        host="127.0.0.1",
        client=Known(sender_host),
        tls=IDENTITY,
    )


def listening_at(order: ReceiverOrder, connect: Callable[[int], object]) -> Received:
    """What a receiver makes of what `connect` does, on a thread of its own, to its port."""
    ports: list[int] = []
    meeting = threading.Thread(target=lambda: connect(ports[0]))

    def announce(port: int) -> None:
        ports.append(port)
        meeting.start()

    try:
        return receive_encrypted(order, met(order, announce), IDENTITY, ARRIVED.set)
    finally:
        meeting.join()


def received(order: ReceiverOrder, send: Send, certificate: str = IDENTITY.certificate) -> Received:
    """What a receiver makes of what `send` does to an encrypted connection."""
    ARRIVED.clear()

    def connect(port: int) -> None:
        plain = socket.create_connection(("127.0.0.1", port))
        try:
            with client_context(certificate).wrap_socket(
                plain, server_hostname=SERVER_NAME
            ) as sock:
                send(sock)
        except OSError:
            return  # What the receiver says of it is the test's.

    return listening_at(order, connect)


def notes_of(found: Received) -> list[tuple[int, int]]:
    numbers = memoryview(found.notes).cast("Q").tolist()
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def test_there_is_a_note_for_each_record() -> None:
    def send(sock: ssl.SSLSocket) -> None:
        for message in POOL.messages()[:MESSAGES]:
            sock.sendall(message)

    found = received(order_with(), send)
    ends = [POOL.stream_bytes(count) for count in range(1, MESSAGES + 1)]
    assert [end for end, _ in notes_of(found)] == ends
    times = [at_ns for _, at_ns in notes_of(found)]
    assert times == sorted(times)
    assert found.counters["closing_wire_bytes"] == 0


def test_records_count_from_the_end_of_the_warm_up() -> None:
    def send(sock: ssl.SSLSocket) -> None:
        sock.sendall(BYTES[:WARM_UP_BYTES])
        assert ARRIVED.wait(60), "the warm-up has arrived"
        sock.sendall(BYTES[WARM_UP_BYTES:-1])
        sock.sendall(BYTES[-1:])

    found = received(order_with(), send)
    assert found.counters["tls_records"] == 2
    assert found.counters["wire_bytes"] == len(BYTES) - WARM_UP_BYTES + 2 * 22


def test_the_farewell_of_tls_is_no_record_of_the_stream() -> None:
    def send(sock: ssl.SSLSocket) -> None:
        sock.sendall(BYTES[:WARM_UP_BYTES])
        assert ARRIVED.wait(60), "the warm-up has arrived"
        sock.sendall(BYTES[WARM_UP_BYTES:])
        sock.unwrap().close()

    found = received(order_with(), send)
    assert found.counters["tls_records"] == 1
    assert found.counters["closing_wire_bytes"] == 24
    assert notes_of(found)[-1][0] == len(BYTES)


ALTERED = bytearray(BYTES)
ALTERED[77] ^= 4


@pytest.mark.parametrize(
    ("sent", "fault"),
    [(bytes(ALTERED), "77"), (BYTES[:-1], str(len(BYTES))), (BYTES + b"x", str(len(BYTES)))],
)
def test_a_wrong_byte_a_missing_one_and_one_too_many_are_caught(sent: bytes, fault: str) -> None:
    with pytest.raises(OSError, match=fault):
        received(order_with(), lambda sock: sock.sendall(sent))


def test_a_sender_that_trusts_another_certificate_is_told_by_name() -> None:
    other = new_identity().certificate
    with pytest.raises(OSError, match=r"TLS with the sender failed.*unknown ca"):
        received(order_with(), lambda _sock: None, other)


def test_a_sender_that_does_not_encrypt_is_told_by_name() -> None:
    def connect(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            plain.recv(1)

    with pytest.raises(OSError, match="TLS with the sender failed"):
        listening_at(order_with(), connect)


def test_a_sender_that_leaves_during_the_handshake_is_an_error() -> None:
    with pytest.raises(OSError, match="during the handshake"):
        listening_at(
            order_with(), lambda port: socket.create_connection(("127.0.0.1", port)).close()
        )


def test_strangers_are_counted_and_turned_away() -> None:
    def connect(port: int) -> None:
        address = ("127.0.0.1", port)
        with socket.create_connection(address, source_address=("127.0.0.3", 0)):
            plain = socket.create_connection(address, source_address=("127.0.0.2", 0))
            context = client_context(IDENTITY.certificate)
            with context.wrap_socket(plain, server_hostname=SERVER_NAME) as sock:
                sock.sendall(BYTES)

    found = listening_at(order_with("127.0.0.2"), connect)
    assert found.counters["strangers"] == 1
    assert notes_of(found)[-1][0] == len(BYTES)
