"""What is read of real sockets is what is known to be so; what may not be read is said."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import pytest
from tests.watch.sockets import connected, fill, listening, name_of, port_of, waited_for

from tinygram_bench import _native
from tinygram_bench.host.network import private_network
from tinygram_bench.host.probes.sockets import Connection, Listener
from tinygram_bench.model.errors import UsageError
from tinygram_bench.watch import reading
from tinygram_bench.watch.reading import PROC, SOCK_DIAG, Reader, TargetEndedError
from tinygram_bench.watch.targets import Target

WAITS = "import sys; sys.stdin.read()"
LISTENS = (
    "import socket, sys; server = socket.create_server(('127.0.0.1', 0)); "
    "print(server.getsockname()[1], flush=True); sys.stdin.read()"
)


def ends_of(reader: Reader, client: socket.socket) -> tuple[Connection, Connection]:
    """The client's and the server's."""
    found = {each.local: each for each in reader.read().connections}
    host, port = client.getpeername()
    return found[name_of(client)], found[f"{host}:{port}"]


def listener_of(port: int) -> Listener:
    (listener,) = Reader(Target(port=port)).read().listeners
    return listener


@contextmanager
def running(program: str, *, fds: tuple[int, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=fds,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_what_is_not_read_waits_at_the_receiver() -> None:
    with connected() as (client, server):
        reader = Reader(Target(port=port_of(server)))
        client.sendall(bytes(1000))
        sender, receiver = waited_for(
            lambda: ends_of(reader, client),
            lambda ends: ends[1].receive_queue_bytes == 1000 and ends[0].send_queue_bytes == 0,
        )
        assert (sender.sent_bytes, sender.data_segments_sent) == (1000, 1)
        assert sender.bytes_per_segment == 1000
        assert (sender.unsent_bytes, sender.unacknowledged_bytes) == (0, 0)
        assert (receiver.received_bytes, receiver.state) == (1000, "ESTABLISHED")
        assert sender.rtt_us is not None
        assert sender.delivery_rate_bytes_per_s is not None
        server.recv(1000)
        assert ends_of(reader, client)[1].receive_queue_bytes == 0


def test_what_the_receiver_has_no_room_for_waits_unsent() -> None:
    with connected() as (client, server):
        reader = Reader(Target(port=port_of(server)))
        fill(client)
        sender, receiver = waited_for(
            lambda: ends_of(reader, client), lambda ends: (ends[0].unsent_bytes or 0) > 0
        )
        assert sender.unsent_bytes is not None
        assert sender.unacknowledged_bytes is not None
        assert sender.send_queue_bytes == sender.unsent_bytes + sender.unacknowledged_bytes
        assert receiver.receive_queue_bytes > 0


def test_options_and_the_process_are_those_of_the_socket() -> None:
    with connected() as (client, server):
        reader = Reader(Target(port=port_of(server)))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        ours, theirs = ends_of(reader, client)
        assert (ours.is_nodelay, ours.is_corked) == (True, False)
        assert (theirs.is_nodelay, theirs.is_corked) == (False, True)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        assert ends_of(reader, client)[0].is_nodelay is False
        assert ours.owner is not None
        assert (ours.owner.pid, ours.owner.fd) == (os.getpid(), client.fileno())


def has_waiting(connections: int) -> Callable[[Listener], bool]:
    return lambda listener: listener.accept_queue_connections == connections


def test_a_listener_tells_who_waits_and_when_it_is_full() -> None:
    with listening(backlog=2) as listener, ExitStack() as stack:
        for waiting in range(4):
            found = waited_for(lambda: listener_of(port_of(listener)), has_waiting(waiting))
            assert found.backlog_connections == 2
            # The kernel lets one more wait than was asked for.
            assert found.is_full == (waiting > 2)
            if waiting < 3:
                stack.enter_context(socket.create_connection(listener.getsockname()))


def test_half_open_connections_are_counted() -> None:
    """TCP_DEFER_ACCEPT: a connection stays half open until its first byte has come."""
    with listening() as listener, ExitStack() as stack:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 30)
        clients = [
            stack.enter_context(socket.create_connection(listener.getsockname())) for _ in range(3)
        ]
        found = listener_of(port_of(listener))
        assert (found.half_open_connections, found.accept_queue_connections) == (3, 0)
        clients[0].sendall(b"x")
        # It leaves the one queue a moment before it is in the other.
        waited_for(
            lambda: listener_of(port_of(listener)),
            lambda each: (each.half_open_connections, each.accept_queue_connections) == (2, 1),
        )


def test_a_process_has_its_own_sockets_only() -> None:
    with connected() as (client, _), running(WAITS, fds=(client.fileno(),)) as process:
        reader = Reader(Target(pid=process.pid))
        (found,) = waited_for(
            lambda: reader.read().connections, lambda connections: len(connections) == 1
        )
        assert found.local == name_of(client)
        assert found.owner is not None
        assert (found.owner.pid, found.owner.fd) == (process.pid, client.fileno())
        process.kill()
        process.wait()
        with pytest.raises(TargetEndedError, match=f"process {process.pid} has ended"):
            reader.read()


def test_a_process_in_another_network_is_read_there() -> None:
    with private_network() as network:
        if not network.is_private:
            pytest.skip("no network namespace may be made here")
        with network.entered():
            stack = ExitStack()
            process = stack.enter_context(running(LISTENS))
        with stack:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            snapshot = Reader(Target(pid=process.pid)).read()
            assert [each.local for each in snapshot.listeners] == [f"127.0.0.1:{port}"]
            assert snapshot.source == SOCK_DIAG


def without(**replaced: object) -> SimpleNamespace:
    """The native module with something else in some places."""
    names = ("SocketDiag", "proc_sockets", "socket_options")
    known = {name: getattr(_native, name) for name in names}
    return SimpleNamespace(**(known | replaced))


def refuse(*_: object) -> None:
    raise OSError(errno.EPROTONOSUPPORT, "Protocol not supported")


def forbid(*_: object) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted")


def test_without_sock_diag_the_queues_are_known_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "_native", without(SocketDiag=refuse))
    with connected() as (client, server):
        reader = Reader(Target(port=port_of(server)))
        client.sendall(bytes(1000))
        sender, receiver = waited_for(
            lambda: ends_of(reader, client), lambda ends: ends[1].receive_queue_bytes == 1000
        )
        assert receiver.owner is not None
        assert (sender.rtt_us, sender.unsent_bytes) == (None, None)
        assert sender.cwnd_segments is not None
        snapshot = reader.read()
        assert snapshot.source == PROC
        (note,) = snapshot.notes
        assert note.startswith("sock_diag is not available here (Protocol not supported): ")
    with listening() as listener:
        found = listener_of(port_of(listener))
        assert (found.accept_queue_connections, found.backlog_connections) == (0, None)
        assert not found.is_full


def test_options_that_may_not_be_read_are_null_and_the_rest_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "_native", without(socket_options=forbid))
    with connected() as (client, server):
        reader = Reader(Target(port=port_of(server)))
        ours, _ = ends_of(reader, client)
        assert (ours.is_nodelay, ours.is_corked) == (None, None)
        assert ours.rtt_us is not None
        (note,) = reader.read().notes
        assert "may not be read (Operation not permitted)" in note


def test_a_process_that_may_not_be_looked_at_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "sockets_of", forbid)
    with pytest.raises(UsageError, match=r"descriptors of process 1 cannot be read .* as root"):
        Reader(Target(pid=1)).read()
