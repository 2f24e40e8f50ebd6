"""A server that is not ours, or means harm: the client says so, and keeps its memory and files."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
import pytest
from tests.hosts.far_server import HELLO, LIMIT_S

from tinygram_bench.hosts import line as hosts_line
from tinygram_bench.hosts import wire
from tinygram_bench.hosts.address import FarAddress, connected
from tinygram_bench.hosts.line import FarProcess, Line
from tinygram_bench.model.errors import UsageError

VERSION = str(HELLO["tinygram"])
WELCOME = wire.Welcome({}, b"0" * wire.TOKEN_BYTES)


@contextmanager
def answering(*answers: wire.Answer | bytes) -> Iterator[FarAddress]:
    """A server that says these, the later ones when it was told to begin a process, and no more."""
    lines = [each if isinstance(each, bytes) else wire.line_of(each) for each in answers]
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            sock, _ = listener.accept()
            with sock, sock.makefile("rb") as heard:
                sock.sendall(wire.greeting(None))
                heard.readline()
                sock.sendall(lines[0])
                if len(lines) > 1:
                    heard.readline()
                    with suppress(OSError):  # The first of them may end the connection.
                        sock.sendall(b"".join(lines[1:]))
                        sock.shutdown(socket.SHUT_WR)
                with suppress(OSError):
                    heard.read()

        thread = threading.Thread(target=serve)
        thread.start()
        yield FarAddress("it", "127.0.0.1", listener.getsockname()[1])
        thread.join()


def failure_after(*answers: wire.Answer) -> str:
    """Why a process with one file ended, when the server had said these."""
    failure = ended_after(*answers).failure
    assert failure is not None
    return failure


def ended_after(*answers: wire.Answer | bytes) -> FarProcess:
    """A process with one file, which ended when the server had said these."""
    return heard_after(*answers)[0]


def heard_after(*answers: wire.Answer | bytes) -> tuple[FarProcess, bytes]:
    """A process like that of `ended_after`, and what it has answered."""
    with answering(WELCOME, *answers) as address:
        found = Line(address, VERSION, lambda _: None)
        fd = os.memfd_create("left")
        try:
            process, channel, _ = found.begin("it", "it", "none", counts_writes=False, files=[fd])
            with channel:
                assert process.wait_ended(LIMIT_S)
                channel.settimeout(LIMIT_S)
                heard = b""
                while part := channel.recv(1 << 16):
                    heard += part
            return process, heard
        finally:
            found.close()
            os.close(fd)


def test_what_a_process_answers_is_heard_as_it_was_said() -> None:
    said = wire.Said(0, msgspec.Raw(b'{"port":1}'))
    process, heard = heard_after(said, wire.Ended(0, None))
    assert process.failure is None
    assert heard == b'{"port":1}\n'


def test_an_answer_to_nothing_is_no_welcome() -> None:
    with (
        answering(wire.Used(0, 1)) as address,
        pytest.raises(UsageError, match="it was asked nothing"),
    ):
        Line(address, VERSION, lambda _: None)


@pytest.mark.parametrize(
    ("greeting", "said"),
    [
        (b"", "it closed the connection without a greeting: "),
        (b"tinygram serve 9999 -\n", "it speaks version 9999 of the control connection, and this"),
        (b"SSH-2.0-x\n", "it greets otherwise: another program listens there"),
    ],
    ids=["nothing", "another version", "another program"],
)
def test_the_error_names_what_the_server_said_in_place_of_a_greeting(
    greeting: bytes, said: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            sock, _ = listener.accept()
            with sock:
                sock.sendall(greeting)

        thread = threading.Thread(target=greet)
        thread.start()
        address = FarAddress("it", "127.0.0.1", listener.getsockname()[1])
        with pytest.raises(UsageError, match=f"^--server {said}"):
            connected(address)
        thread.join()


def test_what_comes_late_is_written_to_no_file_of_somebody_else() -> None:
    fd = os.memfd_create("left")
    process = FarProcess("it", [fd])
    os.close(fd)
    (copy,) = process.files
    os.write(copy, b"late")
    process.end(None)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(copy)


def test_a_refusal_is_shown_without_what_a_terminal_would_obey() -> None:
    with (
        answering(wire.Refused("\x1b[2Jno" + "!" * 5_000)) as address,
        pytest.raises(UsageError) as caught,
    ):
        Line(address, VERSION, lambda _: None)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 2_000


def test_a_file_that_was_not_asked_for_ends_the_connection() -> None:
    assert "was not asked for" in failure_after(wire.Left(0, 2, b"x"))


def test_more_than_a_process_may_leave_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosts_line, "_MAX_LEFT_BYTES", 10)
    assert "was not asked for" in failure_after(wire.Left(0, 0, b"x" * 11))


def test_an_answer_that_is_nested_too_deeply_ends_the_connection() -> None:
    deep = msgspec.Raw(b"[" * 5_000 + b"]" * 5_000)
    assert "it sent a line that is nested too deeply" in failure_after(wire.Said(0, deep))


def test_a_second_welcome_ends_the_connection() -> None:
    assert "welcomed this host twice" in failure_after(WELCOME)


def test_a_process_that_ends_is_told_with_what_the_far_host_said_of_it() -> None:
    assert (
        failure_after(wire.Ended(0, "it\x07 broke"))
        == "on the far host, it\N{REPLACEMENT CHARACTER} broke"
    )
