"""What was asked for wrongly is said in one line, with a remedy, before anything is measured."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from tinygram.bench.cli import main
from tinygram.bench.cli import sizes as sizes_module

NO_HOST = "a" * 64
"""Too long for a name, which is found without asking anybody."""
SIZES: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("--sizes", "0"), ("'0'", "above 0")),
    (("--sizes", "10..1"), ("'10..1'", "1..10")),
    (("--sizes", "1GiB"), ("'1GiB'", "1 B to 64 MiB")),
    (("--sizes", "64MiB"), ("2 round trips", "--sizes", "--round-trips")),
    (("--round-trips", "two"), ("'two'", "--round-trips 0,1,2")),
    (("--samples", "99"), ("--samples 99", "100 … 1000000")),
    (("--first", "0"), ("--first 0", "1 … 1000000")),
    (("--setup-writes", "3"), ("--setup-writes 3", "1 … 2")),
    (("--strategy", "cork"), ("'cork'", "nodelay, nagle")),
    (("--predict", "soon"), ("'soon'", "64KiB")),
    (("--server", "9000"), ("'9000'", "127.0.0.1:7000")),
    (("--server", "127.0.0.1:0"), ("'127.0.0.1:0'", "HOST:PORT")),
    (("--server", f"{NO_HOST}:9000"), (NO_HOST, "IPv4 address")),
    (("--rounds", "0"), ("--rounds 0", "1 … 10000")),
    (("--pin", "left"), ("'left'", "apart, same, none")),
    (("--link", "lan"), ("'lan'", "loopback")),
    (("--congestion-control", "none-such"), ("'none-such'", "cubic")),
    (("--timeout", "5"), ("'5' has no unit",)),
    (("--probe", "1us"), ("--probe 1us", "1ms … 60s")),
    (("--json", "none-such/a.json"), ("none-such/a.json", "--json")),
]
SERVE: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    ((), ("Missing command",)),
    (("rr2",), ("'rr2'",)),
    (("sizes", "--port", "65536"), ("--port 65536", "0 … 65535")),
    (("sizes", "--max-message", "5GB"), ("5GB", "above 4 GiB")),
    (("sizes", "--max-message", "0"), ("'0'", "above 0")),
    (("sizes", "--max-messages", "-1"), ("--max-messages -1",)),
    (("sizes", "--max-connections", "0"), ("--max-connections 0", "1 … 100000")),
    (("sizes", "--congestion-control", "none-such"), ("'none-such'", "cubic")),
]


def check_told(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: tuple[str, ...],
) -> None:
    monkeypatch.setattr(sys, "argv", ["tinygram", *words])
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tinygram: error: ")
    assert captured.err.count("\n") == 1
    for part in said:
        assert part in captured.err


def nothing_may_start(*_arguments: object, **_options: object) -> None:
    raise AssertionError("the measurement was begun")


@pytest.mark.parametrize(("arguments", "said"), SIZES, ids=lambda value: " ".join(value)[:40])
def test_sizes_names_the_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    said: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sizes_module, "measure", nothing_may_start)
    check_told(monkeypatch, capsys, ("sizes", *arguments), said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("arguments", "said"), SERVE, ids=lambda value: " ".join(value)[:40])
def test_serve_names_the_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    said: tuple[str, ...],
) -> None:
    check_told(monkeypatch, capsys, ("serve", *arguments), said)


def test_a_port_that_is_taken_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = (f"cannot listen on port {port}: Address already in use", "--port")
        check_told(monkeypatch, capsys, ("serve", "sizes", "--port", port), said)
