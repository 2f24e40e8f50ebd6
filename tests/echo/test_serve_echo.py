"""`tinygram serve echo`: the native server alone, whoever connects."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.command import Command, Refused
from tests.support.waiting import wait_until

COMMAND = [sys.executable, "-B", "-m", "tinygram_bench", "serve", "echo"]
SERVE = "tinygram_bench.cli.commands.serve.echo"
PATIENCE_S = 60.0
SILENT_CONNECTIONS = 1_000
MOST_GROWTH_BYTES = 32 << 20


class Serving:
    """A running `tinygram serve echo`."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert said.startswith("listening "), self.process.communicate()[1]
        self.port = int(said.split()[1])

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def resident_bytes(self) -> int:
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def check_serves(self) -> None:
        with self.connect() as sock:
            sock.sendall(b"hello")
            assert sock.recv(5) == b"hello"


@pytest.fixture
def serving() -> Iterator[Serving]:
    serving = Serving()
    yield serving
    serving.process.kill()
    serving.process.communicate(timeout=PATIENCE_S)


def test_ctrl_c_ends_it_without_a_traceback(serving: Serving) -> None:
    serving.check_serves()
    serving.process.send_signal(signal.SIGINT)
    _, stderr = serving.process.communicate(timeout=PATIENCE_S)
    counted = "connections: 1\nevicted connections: 0\nmost connections: 1\n"
    assert serving.process.returncode == 130
    # What took the place of CUBIC may have been told before.
    assert stderr.endswith(counted + "tinygram: interrupted\n")
    assert "Traceback" not in stderr


def test_it_has_as_many_descriptors_as_it_may(serving: Serving) -> None:
    soft, hard = resource.prlimit(serving.process.pid, resource.RLIMIT_NOFILE)
    assert soft == hard


def test_the_command_measures_it(serving: Serving, command: Command) -> None:
    done = command.run(
        *("--server", f"127.0.0.1:{serving.port}", "--only", "runtime=external"),
        *("--size", 100, "--messages", 500, "--rounds", 1),
    )
    assert done.code == 0, done.stderr
    assert done.counters_of()["messages"] == 500


def test_per_message_it_sends_what_is_no_whole_message_when_the_peer_ends() -> None:
    serving = Serving("--reply", "per-message", "--size", "10", "--strategy", "tick")
    try:
        with serving.connect() as sock:
            sock.sendall(b"0123456789012")
            assert sock.recv(10, socket.MSG_WAITALL) == b"0123456789"
            sock.shutdown(socket.SHUT_WR)
            assert sock.recv(100) == b"012"
            assert sock.recv(100) == b""
    finally:
        serving.process.kill()
        serving.process.communicate(timeout=PATIENCE_S)


def test_silent_slow_and_greedy_peers_cost_little_and_stop_nobody(serving: Serving) -> None:
    serving.check_serves()
    before_bytes = serving.resident_bytes()
    silent = [serving.connect() for _ in range(min(SILENT_CONNECTIONS, spare_descriptors()))]
    slow, greedy = serving.connect(), serving.connect()
    greedy.setblocking(False)
    sent_bytes = 0
    with suppress(BlockingIOError):
        while sent_bytes < 1 << 30:
            sent_bytes += greedy.send(bytes(1 << 20))
    for byte in b"slowly":
        slow.sendall(bytes([byte]))
        serving.check_serves()
    assert slow.recv(6, socket.MSG_WAITALL) == b"slowly"
    assert serving.resident_bytes() - before_bytes < MOST_GROWTH_BYTES
    for sock in (*silent, slow, greedy):
        sock.close()
    wait_until(lambda: sockets_of(serving.process.pid) < 10, PATIENCE_S, "connections are ended")


@pytest.mark.parametrize(
    ("options", "most"),
    [
        (("--max-connections", "3"), 3),
        # Together they keep 1 GiB.
        (("--buffer", "16MiB"), 64),
        (("--buffer", "16MiB", "--reply", "per-message", "--size", "16MiB"), 10),
    ],
)
def test_with_too_many_connections_the_most_silent_are_ended_and_counted(
    options: tuple[str, ...], most: int
) -> None:
    serving = Serving(*options)
    try:
        silent = [serving.connect() for _ in range(most + 2)]
        for sock in silent[:2]:
            assert sock.recv(1) == b""
        # The others are there: whoever ends now gives its place.
        silent[-1].shutdown(socket.SHUT_WR)
        assert silent[-1].recv(1) == b""
        serving.process.send_signal(signal.SIGINT)
        _, stderr = serving.process.communicate(timeout=PATIENCE_S)
        counted = f"connections: {most + 2}\nevicted connections: 2\nmost connections: {most}\n"
        assert counted in stderr
        for sock in silent:
            sock.close()
    finally:
        serving.process.kill()
        serving.process.communicate(timeout=PATIENCE_S)


def spare_descriptors() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100


def sockets_of(pid: int) -> int:
    links = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            links.append(os.readlink(entry))
        except FileNotFoundError:
            continue
    return sum(link.startswith("socket:") for link in links)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--port", "70000"), ("--port 70000", "0 … 65535")),
        (("--max-connections", "0"), ("--max-connections 0", "1 … 1000000")),
        (("--reply", "never"), ("'never'", "per-read, per-message")),
        (("--size", "10"), ("--size", "--reply per-message")),
        (("--strategy", "tick"), ("--strategy", "--reply per-message")),
        (("--reply", "per-message"), ("--size", "boundary")),
        (("--reply", "per-message", "--size", "2GiB"), ("--size: '2GiB'", "16MiB")),
        (
            ("--reply", "per-message", "--size", "10", "--strategy", "cork"),
            ("--strategy cork", "nagle, nodelay, tick, coalesce:10us, competitive:5us, adaptive"),
        ),
        (("--buffer", "1GiB"), ("--buffer: '1GiB'", "16MiB")),
        (("--congestion-control", "none-such"), ("'none-such'", "cubic")),
    ],
)
def test_what_was_asked_for_wrongly_is_one_line(
    options: tuple[str, ...],
    said: tuple[str, ...],
    refused: Refused,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What starts from this process is to have the limit of descriptors that it had.
    monkeypatch.setattr(f"{SERVE}.raise_descriptor_limit", lambda: None)
    refused(("serve", "echo", *options), said)


def test_a_port_that_is_taken_is_named(serving: Serving) -> None:
    done = subprocess.run(
        [*COMMAND, "--port", str(serving.port)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    said = f"cannot listen on port {serving.port}: Address already in use"
    assert said in done.stderr
