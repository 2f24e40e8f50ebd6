"""What was asked for wrongly is said in one line, with a remedy, before anything is measured."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tinygram.bench.cli import echo as echo_module
from tinygram.bench.cli import main

UNITS = "(ns, us, ms, s, min, h)"
RUNTIMES = "asyncio, uvloop, threads, native, external"
PROGRAM = ("--server-command", "cat", "--port", "9000")

WRONG: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("--only", "runtime=twisted"), ("'twisted'", RUNTIMES)),
    (("--only", "server=epol"), ("'epol'", "sock, streams, protocol, buffered-protocol")),
    (("--only", "implementation=rust"), ("'rust'", "stdlib, tinygram, external")),
    (("--only", "strategy=nagel"), ("'nagel'", "nagle, nodelay")),
    (("--only", "colour=blue"), ("'colour=blue'", "runtime, implementation, server, strategy")),
    (("--only", "server"), ("'server'", "KEY=VALUE")),
    (("--only", "runtime=native,server=recv"), ("no server is", "native: epoll")),
    (("--only", "runtime=external"), ("no server is runtime=external", "threads: recv")),
    (("--published", "--depth", "2"), ("--published", "--depth")),
    (("--size", "0"), ("'0'", "above 0")),
    (("--size", "2GiB"), ("'2GiB'", "1 B to 1 GiB")),
    (("--size", "1..500"), ("'1..500'", "64KiB")),
    (("--workers", "0"), ("--workers 0", "1 … 256")),
    (("--depth", "0"), ("--depth 0", "1 … 65536")),
    (("--depth", "65536", "--size", "64KiB"), ("--depth 65536", "1 GiB")),
    (("--reply", "whenever"), ("'whenever'", "per-read, per-message")),
    (("--buffer", "0"), ("'0'", "above 0")),
    (("--buffer", "2GiB"), ("--buffer", "1 … 16777216")),
    (("--messages", "0"), ("--messages 0", "1 … 100000000")),
    (("--messages", "5", "--duration", "1s"), ("--messages", "--duration")),
    (("--duration", "5"), ("'5' has no unit", UNITS)),
    (("--faulty", "slow"), ("'slow'", "whole-buffer")),
    (("--faulty", "whole-buffer", "--reply", "per-message"), ("--faulty", "--reply per-message")),
    (("--faulty", "whole-buffer", "--only", "server=sock"), ("whole-buffer", "recv_into")),
    (("--server-command", "cat"), ("--server-command", "--port")),
    (("--port", "9000"), ("--port", "--server-command")),
    (("--server-command", "./none-such", "--port", "9000"), ("'./none-such'", "PATH")),
    (("--server-command", "'", "--port", "9000"), ("No closing quotation",)),
    (("--server-command", "cat", "--port", "0"), ("--port 0", "1 … 65535")),
    ((*PROGRAM, "--server", "127.0.0.1:9000"), ("--server", "--server-command")),
    (("--server", "127.0.0.1"), ("'127.0.0.1'", "HOST:PORT")),
    (("--server", "127.0.0.1:99999"), ("--server", "127.0.0.1:99999", "HOST:PORT")),
    (("--rounds", "0"), ("--rounds 0", "1 … 10000")),
    (("--seed", "-1"), ("--seed -1", "0 … ")),
    (("--pin", "left"), ("'left'", "apart, same, none")),
    (("--link", "lan"), ("'lan'", "loopback")),
    (("--congestion-control", "none-such"), ("'none-such'", "cubic")),
    (("--probe", "10"), ("'10' has no unit", UNITS)),
    (("--probe", "1us"), ("--probe 1us", "1ms … 60s")),
    (("--timeout", "5"), ("'5' has no unit", UNITS)),
    (("--json", "none-such/a.json"), ("none-such/a.json", "--json")),
    (("--no-such-option",), ("--no-such-option", "tinygram echo --help")),
]


@contextmanager
def nothing_may_start(_seed: int) -> Iterator[None]:
    raise AssertionError("the measurement was begun")
    yield


@pytest.mark.parametrize(("arguments", "said"), WRONG, ids=lambda value: " ".join(value)[:40])
def test_it_is_one_line_with_the_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    said: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tinygram", "echo", *arguments])
    monkeypatch.setattr(echo_module, "echo_bench", nothing_may_start)
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tinygram: error: ")
    assert captured.err.count("\n") == 1
    for part in said:
        assert part in captured.err
    assert list(tmp_path.iterdir()) == []


def test_what_is_right_does_begin_a_measurement(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tinygram", "echo"])
    monkeypatch.setattr(echo_module, "echo_bench", nothing_may_start)
    with pytest.raises(AssertionError, match="the measurement was begun"):
        main()
