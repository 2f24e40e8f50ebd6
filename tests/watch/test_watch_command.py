"""`tinygram watch` as its user runs it."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from rich.console import Console
from tests.support.command import Refused
from tests.watch.sockets import GIVE_UP_S, connected, listening, name_of, port_of

from tinygram_bench.cli import main
from tinygram_bench.watch import live
from tinygram_bench.watch.reading import Reader
from tinygram_bench.watch.targets import Target

COMMAND = [sys.executable, "-B", "-m", "tinygram_bench", "watch"]


@pytest.fixture
def once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[int], str]:
    """What `tinygram watch :PORT --once` prints, in this process: starting one takes long."""

    def call(port: int) -> str:
        monkeypatch.setattr(sys, "argv", ["tinygram", "watch", f":{port}", "--once"])
        with pytest.raises(SystemExit, match=r"^0$"):
            main()
        said = capsys.readouterr()
        assert said.err == ""
        return said.out

    return call


@contextmanager
def watching(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    command = [*COMMAND, *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_once_as_json_is_one_document() -> None:
    """It runs as a process of its own, and finds that the sockets are of another one."""
    with connected() as (client, server):
        client.sendall(b"hello")
        done = subprocess.run(
            [*COMMAND, f":{port_of(server)}", "--once", "--json"],
            capture_output=True,
            text=True,
            check=False,
            timeout=GIVE_UP_S,
        )
        assert (done.returncode, done.stderr) == (0, "")
        told = json.loads(done.stdout)
        ends = {each["local"]: each for each in told["connections"]}
        assert set(ends) == {name_of(client), name_of(server)}
        assert ends[name_of(server)]["receive_queue_bytes"] == 5
        assert ends[name_of(client)]["owner"]["pid"] == os.getpid()


def test_once_is_plain_tables_where_the_output_is_no_terminal(once: Callable[[int], str]) -> None:
    with listening(backlog=7) as listener:
        printed = once(port_of(listener))
        assert printed.isascii()
        lines = printed.splitlines()
        assert lines[0] == f"port {port_of(listener)}, as sock_diag tells it"
        row = next(line.split() for line in lines if line.startswith(name_of(listener)))
        assert row[-3:] == ["0", "7", "0"]


def test_a_port_that_nobody_has_may_be_waited_for(once: Callable[[int], str]) -> None:
    with listening() as listener:
        port = port_of(listener)
    assert once(port).splitlines()[-1] == "no connection and no listener"


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM])
def test_a_line_of_json_each_time_until_it_is_interrupted(way: signal.Signals) -> None:
    with (
        listening() as listener,
        watching(f":{port_of(listener)}", "--json", "--interval", "10ms") as process,
    ):
        assert process.stdout is not None
        first, second = (json.loads(process.stdout.readline()) for _ in range(2))
        assert second["at_ns"] > first["at_ns"]
        process.send_signal(way)
        _, errors = process.communicate(timeout=GIVE_UP_S)
        assert (process.returncode, errors) == (0, "")


def test_it_ends_with_the_process_that_it_watches() -> None:
    with subprocess.Popen(["sleep", "1000"]) as watched:
        try:
            with watching(f"pid:{watched.pid}", "--interval", "10ms") as process:
                assert process.stdout is not None
                first = process.stdout.readline()
                assert first == f"process {watched.pid}, as sock_diag tells it\n"
                watched.kill()
                watched.wait()
                output, errors = process.communicate(timeout=GIVE_UP_S)
                assert (process.returncode, errors) == (0, "")
                assert output.splitlines()[-1] == f"process {watched.pid} has ended"
        finally:
            watched.kill()


def test_on_a_terminal_it_is_one_screen_which_is_given_back() -> None:
    ours, theirs = pty.openpty()
    try:
        with listening() as listener:
            process = subprocess.Popen(
                [*COMMAND, f":{port_of(listener)}", "--interval", "10ms"],
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"},
            )
            os.close(theirs)
            seen = read_until(ours, b"Ctrl-C ends it")
            assert b"\x1b[?1049h" in seen
            assert b"Listeners" in seen
            process.send_signal(signal.SIGINT)
            read_until(ours, b"\x1b[?1049l")
            assert process.wait(GIVE_UP_S) == 0
    finally:
        os.close(ours)


def test_a_screen_is_not_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What leaves the screen would stay in the console's buffer with the screen's other half."""
    draw = live._draw

    def interrupted(*arguments: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        draw(*arguments)

    monkeypatch.setattr(live, "_draw", interrupted)
    with listening() as listener:
        output = io.StringIO()
        console = Console(file=output, force_terminal=True, width=100, height=30)
        reader = Reader(Target(port=port_of(listener)))
        live.show_again_and_again(reader, console, 10_000_000, as_json=False)
    assert "Ctrl-C ends it" in output.getvalue()
    assert output.getvalue().endswith("\x1b[?1049l\x1b[?25h")


def read_until(terminal: int, mark: bytes) -> bytes:
    give_up_s = time.monotonic() + GIVE_UP_S
    seen = b""
    while mark not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, give_up_s - time.monotonic()))
        assert ready, f"{mark!r} is not in {seen!r}"
        try:
            seen += os.read(terminal, 1 << 16)
        except OSError as error:  # EIO: nobody has the terminal open any more.
            raise AssertionError(f"{mark!r} is not in {seen!r}") from error
    return seen


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "Missing argument 'PORT|PID'"),
        (["nowhere"], "'nowhere' is neither a port nor a process"),
        ([":80", "--interval", "1ms"], "--interval 1ms is outside 10ms … 3600s"),
        ([":80", "--interval", "5"], "--interval: the duration '5' has no unit"),
    ],
)
def test_bad_usage_is_one_line_with_a_remedy(
    arguments: list[str], fault: str, refused: Refused
) -> None:
    refused(("watch", *arguments), (f"tinygram: error: {fault}",))
