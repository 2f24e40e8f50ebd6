"""`tinygram serve rr`: a server alone, which hostile clients cannot take from the others."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.stream.command import Command, search_path, wait_until

REQUEST_BYTES = 100


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The server, and its port."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-B", "-m", "tinygram.bench", "serve", "rr"),
            *("--request", str(REQUEST_BYTES), *arguments),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": search_path()},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening "), process.communicate()
        yield process, int(line.split()[1])
    finally:
        process.kill()
        process.communicate(timeout=20)


def connected(port: int) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=20)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def call(sock: socket.socket, index: int) -> None:
    sock.sendall(bytes(REQUEST_BYTES))
    assert sock.recv(2, socket.MSG_WAITALL) == bytes([index, index + 1])


def ask_until_refused(sock: socket.socket) -> None:
    """Send requests without end; BlockingIOError when nothing more is taken."""
    while True:
        sock.send(bytes(1 << 20))


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Enough for a thousand connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_command_measures_it_like_its_own(command: Command) -> None:
    with serving(command.folder) as (_, port):
        done = command.run(
            *("--server", f"127.0.0.1:{port}", "--request", REQUEST_BYTES, "--callers", "1x3"),
            *("--calls", 4, "--rounds", 1, "--pin", "none", "--runtime", "native"),
        )
    assert done.code == 0, done.stderr
    assert [done.counters_of(index)["calls"] for index in range(len(done.runs))] == [12] * 8


@pytest.mark.usefixtures("many_descriptors")
def test_a_thousand_silent_a_slow_and_a_greedy_client_cost_little_and_stop_nobody(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as (process, port), ExitStack() as stack:
        honest = stack.enter_context(connected(port))
        call(honest, 0)
        before = resident_bytes(process.pid)
        for _ in range(1_000):
            stack.enter_context(connected(port))
        slow = stack.enter_context(connected(port))
        greedy = stack.enter_context(connected(port))
        greedy.setblocking(False)
        # Takes no reply either.
        with pytest.raises(BlockingIOError):
            ask_until_refused(greedy)
        for index in range(1, 20):
            slow.sendall(b"x")
            call(honest, index)
        assert resident_bytes(process.pid) - before < 64 << 20


def test_ctrl_c_ends_it_with_what_it_counted(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, port):
        with connected(port) as sock:
            call(sock, 0)
            call(sock, 1)
        process.send_signal(signal.SIGINT)
        wait_until(lambda: process.poll() is not None, 20.0, "the server ends")
        assert process.returncode == 130
        assert process.stderr is not None
        said = process.stderr.read()
        assert "requests: 2\n" in said
        assert "Traceback" not in said


def test_a_port_that_is_taken_is_one_line_and_exit_2(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, port):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "tinygram.bench", "serve", "rr", "--port", str(port)],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=60,
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tinygram: error: cannot listen on port {port}: ")
    assert done.stderr.count("\n") == 1
