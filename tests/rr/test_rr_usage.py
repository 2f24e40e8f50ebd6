"""What was asked for wrongly is said in one line, with a remedy, before anything is measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tinygram.bench.cli import main
from tinygram.bench.cli import rr as rr_module

WRONG: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("--connections", "one"), ("'one'", "per-request, per-caller, shared")),
    (("--runtime", "loop"), ("'loop'", "threads, asyncio, native")),
    (("--strategy", "cork"), ("'cork'", "nagle, nodelay")),
    (("--server-runtime", "java"), ("'java'", "native, asyncio, uvloop")),
    (("--sends-per-request", "0"), ("--sends-per-request 0", "1 … 10010")),
    (("--callers", "200"), ("'200'", "2x100")),
    (("--callers", "0x5"), ("'0x5'", "2x100")),
    (("--callers", "9999x9999"), ("9999x9999", "2048")),
    (("--request", "0"), ("'0'", "above 0")),
    (("--request", "17MiB"), ("--request", "1 … 16777216")),
    (("--reply", "1GiB"), ("--reply", "1 … 16777216")),
    (("--depth", "2"), ("--depth", "--connections shared")),
    (("--backlog", "0"), ("--backlog 0", "1 … ", "net.core.somaxconn")),
    (("--backlog", "99999999"), ("--backlog 99999999", "net.core.somaxconn")),
    (("--server", "nowhere"), ("'nowhere'", "HOST:PORT")),
    (("--server", ":80"), ("':80'", "HOST:PORT")),
    (("--server", "127.0.0.1:99999"), ("99999", "HOST:PORT")),
    (("--server", "x" * 70 + ":80"), ("has no IPv4 address",)),
    (("--server", "127.0.0.1:9", "--backlog", "5"), ("--server", "--backlog")),
    (("--calls", "5", "--duration", "1s"), ("--calls", "--duration")),
    (("--calls", "0"), ("--calls 0", "1 … ")),
    (("--duration", "5"), ("'5' has no unit",)),
    (("--duration", "48h"), ("--duration 48h", "1ms … 86400s")),
    (("--probe", "10"), ("'10' has no unit",)),
    (("--probe", "1us"), ("--probe 1us", "1ms … 60s")),
    (("--scenario", "stall"), ("'stall'", "delayed-ack-stall")),
    (("--scenario", "one-write", "--request", "5"), ("--request", "--scenario")),
    (("--scenario", "one-write", "--pin", "none"), ("--pin", "--scenario")),
    (("--rounds", "0"), ("--rounds 0", "1 … 10000")),
    (("--pin", "left"), ("'left'", "apart, same, none")),
    (("--link", "lan"), ("'lan'", "loopback")),
    (("--congestion-control", "none-such"), ("'none-such'", "cubic")),
    (("--json", "none-such/a.json"), ("none-such/a.json", "--json")),
    (("--no-such-option",), ("--no-such-option", "tinygram rr --help")),
]


def nothing_may_start(_seed: int) -> None:
    raise AssertionError("the measurement was begun")


def call_main(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> object:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["tinygram", "rr", *arguments])
    monkeypatch.setattr(rr_module, "RrBench", nothing_may_start)
    with pytest.raises(SystemExit) as exited:
        main()
    return exited.value.code


@pytest.mark.parametrize(("arguments", "said"), WRONG, ids=lambda value: " ".join(value)[:40])
def test_it_is_one_line_with_the_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    said: tuple[str, ...],
) -> None:
    assert call_main(monkeypatch, tmp_path, *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tinygram: error: ")
    assert captured.err.count("\n") == 1
    for part in said:
        assert part in captured.err
    assert list(tmp_path.iterdir()) == []


def test_scenarios_are_listed_and_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert call_main(monkeypatch, tmp_path, "--scenarios") == 0
    assert "backlog-overflow: " in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
