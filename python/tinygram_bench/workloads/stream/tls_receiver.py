"""The receiver of a stream over TLS: the ssl module decrypts, in memory, what the socket brings.

A message is received when its plaintext can be read, so there is a note for each decrypted record;
records are counted by their headers as they come (decision 0035). Bytes are compared when all
records of a read have their notes.
"""

from __future__ import annotations

import resource
import socket
import ssl
from array import array
from collections.abc import Callable
from contextlib import suppress
from time import monotonic_ns, thread_time_ns

from msgspec import Struct

from tinygram_bench import _native
from tinygram_bench.loads.source import message_pool
from tinygram_bench.tls.certificates import Identity
from tinygram_bench.tls.contexts import MOST_RECORD_BYTES, check_agreed, server_context
from tinygram_bench.tls.records import Records
from tinygram_bench.workloads.stream.meeting import Met, connecting_port
from tinygram_bench.workloads.stream.order import ReceiverOrder


class Received(Struct, frozen=True):
    """The counters, notes and turns of a stream, as `_native.Receiver` has them."""

    counters: dict[str, int]
    notes: bytes
    turns: bytes


class _Used(Struct, frozen=True):
    """What this thread has used, and what has come, so far."""

    cpu_ns: int
    voluntary: int
    involuntary: int
    records: int
    wire_bytes: int


def receive_encrypted(
    order: ReceiverOrder, ends: Met, identity: Identity, tell_arrived: Callable[[], None]
) -> Received:
    """Read a stream's only connection to its end; `tell_arrived` is called after the warm-up.

    Raises OSError, also where a byte was not the one that was sent.
    """
    (connection,) = ends.sockets
    with connection:
        # Asked now, because after a reset the kernel no longer knows the connection's peer.
        peer_port = connecting_port(order, connection)
        try:
            stream = _Stream(order, server_context(identity), connection, tell_arrived)
            stream.shake_hands()
            used = stream.read_all()
        except ssl.SSLError as error:
            raise OSError(f"TLS with the sender failed: {error}") from error
        except ValueError as error:
            raise OSError(str(error)) from error
        counters = used | {
            "receive_buffer_bytes": connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
            "peer_port": peer_port,
        }
    turns = stream.check.turns() if order.producers > 1 else b""
    return Received(counters | ends.counters, stream.notes.tobytes(), turns)


class _Stream:
    """One encrypted connection that is read, and the notes about it."""

    def __init__(
        self,
        order: ReceiverOrder,
        context: ssl.SSLContext,
        connection: socket.socket,
        tell_arrived: Callable[[], None],
    ) -> None:
        pool = message_pool(order.seed, order.min_bytes, order.max_bytes, order.producers)
        self.check = _native.StreamCheck(pool, order.messages, order.may_end_early)
        self.notes = array("Q")
        self._warm_up_bytes = pool.stream_bytes(order.warm_up)
        self._tell_arrived = tell_arrived
        self._connection = connection
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._records = Records()
        self._buffer = memoryview(bytearray(order.receive_buffer_bytes))

    def shake_hands(self) -> None:
        """Make the handshake. Raises OSError and ssl.SSLError, also for a refused certificate."""
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._answer()
                if not self._take():
                    raise ConnectionResetError("the sender ended during the handshake") from None
        self._answer()
        check_agreed(self._tls)

    def read_all(self) -> dict[str, int]:
        """Read until the sender ends the connection; return the counters since the warm-up."""
        before = self._used()
        closing_bytes = 0
        has_arrived = False
        while True:
            is_open = self._read_records()
            received = self.notes[-2] if self.notes else 0
            if received <= self._warm_up_bytes:
                if received == self._warm_up_bytes and not has_arrived:
                    has_arrived = True
                    self._tell_arrived()
                before = self._used()
            if not is_open:
                # An event loop announces its end in a record of its own, and waits for ours.
                closing_bytes = self._records.last_bytes
                self._close()
                break
            if not self._take():
                break
        self.check.finish()
        after = self._used()
        return {
            "reads": len(self.notes) // 2,
            "receiver_cpu_ns": after.cpu_ns - before.cpu_ns,
            "receiver_voluntary_context_switches": after.voluntary - before.voluntary,
            "receiver_involuntary_context_switches": after.involuntary - before.involuntary,
            "tls_records": after.records - before.records - (closing_bytes > 0),
            "wire_bytes": after.wire_bytes - before.wire_bytes - closing_bytes,
            "closing_wire_bytes": closing_bytes,
        }

    def _take(self) -> bool:
        """Wait for the next bytes of the socket; False at the end of the connection."""
        count = self._connection.recv_into(self._buffer)
        taken = self._buffer[:count]
        self._incoming.write(taken)
        self._records.push(taken)
        return count > 0

    def _read_records(self) -> bool:
        """Decrypt what was taken, and note each record; False when the sender closed TLS."""
        read, note = self._tls.read, self.notes.append
        received = self.notes[-2] if self.notes else 0
        found = []
        is_open = True
        try:
            while plain := read(MOST_RECORD_BYTES):
                at_ns = monotonic_ns()
                received += len(plain)
                note(received)
                note(at_ns)
                found.append(plain)
            is_open = False
        except ssl.SSLWantReadError:
            pass
        self.check.push(b"".join(found))
        return is_open

    def _close(self) -> None:
        """Answer the sender's farewell, and wait until it ends the connection."""
        self._tls.unwrap()
        # Everything has come by now, and a sender that does not read our farewell resets the
        # connection.
        with suppress(ConnectionError):
            self._answer()
            while self._connection.recv_into(self._buffer):
                continue

    def _answer(self) -> None:
        if self._outgoing.pending:
            self._connection.sendall(self._outgoing.read())

    def _used(self) -> _Used:
        usage = resource.getrusage(resource.RUSAGE_THREAD)
        return _Used(
            cpu_ns=thread_time_ns(),
            voluntary=usage.ru_nvcsw,
            involuntary=usage.ru_nivcsw,
            records=self._records.count,
            wire_bytes=self._records.wire_bytes,
        )
