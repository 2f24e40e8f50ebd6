"""A sweep that cannot be made is refused in a line, with a remedy, before anything is measured."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from tinygram_bench.cli import main
from tinygram_bench.cli.app import app
from tinygram_bench.cli.help.tree import commands_of

RATE = "rate=1k..2k"
WRONG: list[tuple[str, tuple[str, ...]]] = [
    ("stream --sweep rate=10k..1k", ("reversed", "rate=1k..10k")),
    ("stream --sweep rate=1k..1k", ("single value", "two that differ")),
    ("stream --sweep rate=1k", ("no range", "rate=1k..500k")),
    ("stream --sweep rate=", ("no range", "rate=1k..500k")),
    ("stream --sweep=", ("PARAMETER=LOW..HIGH", "rate=1k..500k")),
    ("stream --sweep speed=1..2", ("no 'speed'", "rate, hold, size, rtt")),
    ("stream --sweep rate=1ms..2ms", ("'1ms' has an unknown unit", "messages per second")),
    ("stream --sweep hold=1..2", ("'1' has no unit", "10us")),
    ("stream --sweep rtt=1us..1ms", ("1us", "below the floor")),
    ("stream --sweep hold=1us..2us --only loop/nodelay", ("--sweep hold", "name one that has")),
    (f"stream --sweep {RATE} --rate 5", ("--rate", "leave out --rate")),
    ("stream --sweep size=1..5 --size 5", ("--size", "leave out --size")),
    ("stream --sweep size=1..5 --sweep hold=1us..2us", ("size=1..5", "hold=1us..2us", "one")),
    (f"stream --sweep {RATE} --until 2%", ("--until", "use --rounds")),
    (f"stream --sweep {RATE} --cross-check", ("--cross-check", "leave out one")),
    ("stream --sweep rate=1k..30M --duration 1s --only loop/nodelay", ("--rate", "a lower rate")),
    ("stream --limit p99<1ms", ("--limit p99<1ms", "--sweep rate=1k..500k")),
    (
        "stream --sweep size=1..5 --limit p99<1ms",
        ("needs a rate: add --rate, or use --sweep rate=1k..500k",),
    ),
    (f"stream --sweep {RATE} --limit p98<1ms", ("'p98<1ms'", "p50, p99, p99.9")),
    (f"stream --sweep {RATE} --limit p99", ("'p99'", "p50, p99, p99.9")),
    (f"stream --sweep {RATE} --limit p99<1", ("'p99<1'", "has no unit")),
    ("rr --sweep hold=1us..2us --strategy nodelay", ("--sweep hold", "name one that has")),
    ("rr --sweep hold=1us..2us --runtime threads", ("'coalesce:1us'", "callers on threads")),
    ("rr --sweep hold=1us..1ms --server 127.0.0.1:9", ("--server", "with --sweep rate alone")),
    ("rr --sweep size=1..1k", ("--sends-per-request 10", "1 … 1")),
    ("sizes --limit p99<1ms", ("No such option: --limit",)),
    ("rr --sweep size=10..1k --request 5", ("--request", "leave out --request")),
    ("rr --sweep size=10..1k --server 127.0.0.1:9", ("--server", "leave out one of the two")),
    ("echo --sweep size=100..1k --slice 1us", ("--slice 1us", "turns of 1ms at least")),
    ("echo --sweep size=100..1k --slice 2s", ("--slice 2s", "longer than the 500ms")),
    (
        "stream --sweep rtt=1ms..100ms --slice 20ms",
        ("--slice 20ms", "20 round trips of --link", "name at least"),
    ),
    ("stream --sweep rate=500..1k --slice 20ms", ("20 messages at --rate 500", "at least 40ms")),
    ("echo --sweep speed=1..2", ("no 'speed'", "rate, hold, size, rtt")),
    (
        f"echo --sweep {RATE} --messages 5",
        ("--messages", "--sweep rate", "leave out one of the two"),
    ),
    ("echo --sweep rate=500..1k --slice 20ms", ("20 messages at --rate 500", "at least 40ms")),
    ("echo --sweep size=1..1k --server 127.0.0.1:9", ("--server", "with --sweep rate alone")),
    ("echo --sweep size=1..1k --size 5", ("--size", "leave out --size")),
    ("sizes --sweep size=1..1k", ("no 'size'", "rtt")),
    ("fanout --sweep speed=1..2", ("no 'speed'", "rate, hold, size, rtt")),
    ("fanout --sweep rate=1..1M", ("--rate 1e+06", "100 million", "a lower rate")),
    ("fanout --sweep rate=10..1k --rate 5", ("--rate", "leave out --rate")),
    ("fanout --sweep rate=10..1k --slice 1s", ("--sweep rate", "--slice", "alone")),
    ("fanout --sweep size=1..1k", ("--size 1 ", "16 … ")),
    ("fanout --sweep size=16..1k --size 20", ("--size", "leave out --size")),
    ("fanout --sweep hold=1us..2us --only native/epoll", ("--sweep hold", "name one that has")),
    ("fanout --sweep size=16..1k --limit p99<1ms", ("needs a rate: add --rate",)),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[words for words, _ in WRONG])
def test_what_cannot_be_swept_is_refused(
    words: str,
    said: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tinygram", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    assert (ended.value.code, captured.out) == (2, "")
    assert len(captured.err.splitlines()) == 1
    assert [each for each in said if each not in captured.err] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("stream", ("rate", "hold", "size", "rtt")),
        ("rr", ("rate", "hold", "size", "rtt")),
        ("echo", ("rate", "hold", "size", "rtt")),
        ("sizes", ("rtt",)),
        ("fanout", ("rate", "hold", "size", "rtt")),
    ],
)
def test_the_help_names_what_the_command_can_sweep(command: str, known: tuple[str, ...]) -> None:
    (found,) = (
        each for each in commands_of(get_command(app)) if each.words == f"tinygram {command}"
    )
    (sweep,) = (each for each in found.parameters if each.names == ("--sweep",))
    assert re.findall(r"(\w+)=\S+\.\.", sweep.meaning) == list(known)
