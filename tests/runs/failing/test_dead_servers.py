"""A server that does not answer is told before the first round, and not by every run in turn."""

from __future__ import annotations

import os
import shlex
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.support.command import Command, Done, Refused
from tests.support.foreign_servers import peer
from tests.support.processes import children_of

from tinygram_bench.processes.workers import RunError
from tinygram_bench.runs.foreign_server import call_once

each_workload = pytest.mark.parametrize("workload", ["rr", "sizes", "echo"])
SOON_S = 30.0
"""For the whole command on a host that stops for a while: the 42 runs of a plan took minutes."""
PORT = 9109
ENDS_AT_ONCE = "import sys; sys.exit('no licence\\nnor a key\\n\\nsee the log')"
NEVER_LISTENS = "import time; time.sleep(600)"
LISTENS_ELSEWHERE = (
    "import socket, time; listener = socket.create_server(('127.0.0.1', 0)); time.sleep(600)"
)
SAYS_NOTHING = (
    f"import socket, time; listener = socket.create_server(('127.0.0.1', {PORT})); "
    "taken = listener.accept(); time.sleep(600)"
)


@pytest.fixture
def refused_soon(refused: Refused, tmp_path: Path) -> Refused:
    """The same as `refused`, and soon: the bench calls the server, and nothing is started."""
    path = tmp_path / "result.json"

    def check(words: Sequence[str], said: Sequence[str]) -> None:
        children = set(children_of(os.getpid()))
        began_s = time.monotonic()
        refused((*words, "--json", str(path)), (*said, "nothing was measured"))
        assert time.monotonic() - began_s < SOON_S
        assert not path.exists()
        assert set(children_of(os.getpid())) <= children

    return check


def refusal(done: Done, began_s: float) -> str:
    """What is said in one line, nothing having been measured."""
    assert (done.code, done.result, done.stdout) == (2, None, ""), done.stderr
    assert done.stderr.startswith("tinygram: error: ")
    assert done.stderr.count("\n") == 1
    assert "nothing was measured" in done.stderr
    assert time.monotonic() - began_s < SOON_S
    return done.stderr


@contextmanager
def full_listener() -> Iterator[int]:
    """The port of a listener whose queue is full: the kernel drops every SYN that comes."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        address = listener.getsockname()
        stack.enter_context(socket.create_connection(address))
        yield address[1]


def keep_silent(connection: socket.socket) -> None:
    while connection.recv(1 << 16):
        pass


def answer_a_part(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(b"\0")
    keep_silent(connection)


@each_workload
def test_nobody_listens(refused_soon: Refused, workload: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    said = f"--server 127.0.0.1:{port}: connecting failed: Connection refused"
    refused_soon((workload, "--server", f"127.0.0.1:{port}"), (said,))


@each_workload
def test_it_takes_no_connection(refused_soon: Refused, workload: str) -> None:
    with full_listener() as port:
        words = (workload, "--server", f"127.0.0.1:{port}", "--timeout", "500ms")
        refused_soon(words, ("did not accept a connection within ",))


@each_workload
@pytest.mark.parametrize(
    ("answer", "reason"),
    [(keep_silent, "answered nothing for "), (answer_a_part, "its answer has 1 bytes where")],
    ids=["nothing", "a part"],
)
def test_it_takes_a_connection_and_answers_too_little(
    refused_soon: Refused, workload: str, answer: Callable[[socket.socket], None], reason: str
) -> None:
    with peer(answer) as port:
        words = (workload, "--server", f"127.0.0.1:{port}", "--timeout", "500ms")
        refused_soon(words, (reason,))


def test_each_silence_has_its_time_and_an_answer_that_drips_is_one() -> None:
    def drip(connection: socket.socket) -> None:
        for _ in range(5):
            connection.sendall(b"x")
            time.sleep(0.2)

    with peer(drip) as port:
        call_once(("127.0.0.1", port), b"", 5, limit_s=60)
        with pytest.raises(RunError, match="read nothing of what was sent"), full_reader() as full:
            call_once(("127.0.0.1", full), bytes(32 << 20), 5, limit_s=0.2)


@contextmanager
def full_reader() -> Iterator[int]:
    """A server that takes connections and reads nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("command", ["echo"], indirect=True)
@pytest.mark.parametrize(
    ("program", "reasons"),
    [
        (
            ENDS_AT_ONCE,
            ("ended with status 1 before it listened", "no licence / nor a key / see the log"),
        ),
        (NEVER_LISTENS, (f"did not listen on port {PORT} within 6 s",)),
        (LISTENS_ELSEWHERE, ("the server listens on 127.0.0.1:", f"not listen on port {PORT}")),
        (SAYS_NOTHING, ("answered nothing for 5 s",)),
    ],
    ids=["ends-at-once", "never-listens", "listens-elsewhere", "says-nothing"],
)
def test_a_command_that_does_not_serve_is_told_with_its_reason(
    command: Command, program: str, reasons: tuple[str, ...]
) -> None:
    words = shlex.join([sys.executable, "-c", program])
    began_s = time.monotonic()
    done = command.run("--server-command", words, "--port", PORT, "--timeout", "6s")
    said = refusal(done, began_s)
    assert "--server-command" in said
    for reason in reasons:
        assert reason in said
