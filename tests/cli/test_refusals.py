"""What was asked for wrongly is said in one line, with a remedy, before anything is measured."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from tinygram_bench.cli import main, resuming
from tinygram_bench.cli.app import app
from tinygram_bench.cli.stored import made_of
from tinygram_bench.model.errors import UsageError

Wrong = list[tuple[tuple[str, ...], tuple[str, ...]]]
"""Arguments, and what is said of them."""

RATE = ("--rate", "10")
PROGRAM = ("--server-command", "cat", "--port", "9000")
UNITS = "(ns, us, ms, s, min, h)"
STRATEGIES = (
    "nagle, nodelay, combine, tick, coalesce:DURATION, competitive:DURATION, adaptive, cork, more, "
    "timer:DURATION"
)
RUNTIMES = "asyncio, loop, native, processes, threads, uvloop"
ECHO_RUNTIMES = "asyncio, uvloop, threads, native, external"
NO_HOST = "a" * 64
"""Too long for a name, which is found without asking anybody."""

ALL: Wrong = [
    (("--rounds", "0"), ("--rounds 0", "1 … 10000")),
    (("--seed", "-1"), ("--seed -1", "0 … ")),
    (("--pin", "left"), ("'left'", "apart, same, none")),
    (("--link", "lan"), ("'lan'", "loopback")),
    (("--link", "rtt=1ms,loss=120%"), ("120%",)),
    (("--link-backend", "tc"), ("'tc'", "relay, netem, veth")),
    (("--link", "wifi", "--link-backend", "veth"), ("--link-backend veth", "wifi")),
    (("--congestion-control", "none-such"), ("'none-such'", "cubic")),
    (("--probe", "10"), ("'10' has no unit", UNITS)),
    (("--probe", "1us"), ("--probe 1us", "1ms … 60s")),
    (("--timeout", "5"), ("'5' has no unit", UNITS)),
    (("--json", "none-such/a.json"), ("none-such/a.json", "--json")),
    (("--json", "."), ("not a file", "--json ")),
    (("--json", "/dev/null"), ("/dev/null", "not a file")),
    (("--no-such-option",), ("--no-such-option", " --help`")),
]
WITH_SERVER: Wrong = [
    (("--server", "nowhere"), ("'nowhere'", "no address here")),
    (("--server", ":80"), ("':80'", "HOST:PORT")),
    (("--server", "127.0.0.1:0"), ("'127.0.0.1:0'", "HOST:PORT")),
    (("--server", "127.0.0.1:99999"), ("127.0.0.1:99999", "HOST:PORT")),
    (("--server", f"{NO_HOST}:9000"), (NO_HOST, "has no address here")),
    (("--link", "wifi", "--server", "127.0.0.1:9"), ("--link", "--server 127.0.0.1:9")),
]
WITH_UNTIL: Wrong = [
    (("--until", "0%"), ("--until 0%", "0.1% … 50%")),
    (("--until", "200%"), ("--until 200%", "0.1% … 50%")),
    (("--until", "abc"), ("--until", "'abc'", "a number and %")),
    (("--until", "2"), ("--until", "'2'", "a number and %")),
    (("--until", "2%", "--rounds", "9"), ("--rounds", "--until", "--max-time")),
    (("--max-time", "0"), ("--max-time", "'0' has no unit", UNITS)),
    (("--max-time", "0s"), ("--max-time", "'0s'", "above 0")),
    (("--max-time", "10ms"), ("--max-time 10ms", "1s … 86400s")),
]
NOTHING_COMPARED = ("--until 2%", "no two of these cases are compared", "name more")
BY_COMMAND: dict[str, Wrong] = {
    "stream": [
        *ALL,
        *WITH_UNTIL,
        (("--until", "2%", "--only", "loop/nodelay"), NOTHING_COMPARED),
        (("--only", "strategy=nagel"), ("'nagel'", STRATEGIES)),
        (("--only", "runtime=twisted"), ("'twisted'", RUNTIMES)),
        (
            ("--only", "implementation=rust"),
            ("'rust'", "aiofastnet, stdlib, stdlib-lock, tinygram, tinygram-lists"),
        ),
        (("--only", "colour=blue"), ("'colour=blue'", "runtime, implementation, strategy")),
        (
            ("--only", "runtime"),
            ("'runtime'", "KEY=VALUE", "--only runtime=asyncio,strategy=nagle"),
        ),
        (("--only", ""), ("''", "KEY=VALUE")),
        (
            ("--only", "runtime=native,strategy=cork"),
            ("strategy=cork", "native: nagle, nodelay, tick"),
        ),
        (("--only", "strategy=coalesce"), ("'coalesce'", "needs a duration", "coalesce:10us")),
        (("--only", "strategy=timer:"), ("'timer:'", "needs a duration", "timer:10us")),
        (("--only", "strategy=competitive"), ("'competitive'", "needs a duration")),
        (("--only", "strategy=coalesce:10"), ("'10' has no unit", UNITS)),
        (("--only", "strategy=coalesce:10parsecs"), ("'parsecs'", UNITS)),
        (("--only", "strategy=coalesce:soon"), ("'soon'", UNITS)),
        (("--only", "strategy=coalesce:0us"), ("'0us'", "above 0")),
        (("--only", "strategy=nagle:10us"), ("'nagle'", "takes no duration")),
        (("--tls", "--runtime", "native"), ("runtime=native over TLS", "loop: nagle, nodelay")),
        (("--tls", "--only", "threads/tinygram/adaptive"), ("implementation=tinygram", "over TLS")),
        (
            ("--tls", "--runtime", "threads", "--strategy", "more"),
            ("strategy=more over TLS", "threads: nagle, nodelay"),
        ),
        (("--tls", "--producers", "2", "--runtime", "loop"), ("over TLS", "runtime=threads")),
        (("--tls", "--receiver-command", "true"), ("--tls cannot be combined with", "ours")),
        (("--tls", "--cross-check"), ("--tls cannot be combined with --cross-check",)),
        (("--plain",), ("--plain needs --tls",)),
        (("--producers", "0"), ("--producers 0", "1 … 256")),
        (("--producers", "257"), ("--producers 257", "1 … 256")),
        (("--producers", "32", "--size", "4MiB"), ("--producers 32", "4MiB", "64 MiB")),
        (("--producers", "8", "--only", "runtime=loop"), ("--producers 8", "runtime=threads")),
        (("--size", "0"), ("'0'", "above 0")),
        (("--size", "-5"), ("--size", "'-5'", "64KiB")),
        (("--size", "2GiB"), ("'2GiB'", "1 B to 1 GiB")),
        (("--size", "1..2GiB"), ("'2GiB'", "1 B to 1 GiB")),
        (("--size", "500..1"), ("--size", "'500..1'", "1-500")),
        (("--size", "large"), ("'large'", "64KiB")),
        (("--rate", "0"), ("'0'", "above 0")),
        (("--rate", "-1"), ("'-1'", "messages per second")),
        (("--rate", "nan"), ("'nan'", "messages per second")),
        (("--rate", "inf"), ("'inf'", "messages per second")),
        (("--rate", "99999999M"), ("--rate", "100000000")),
        ((*RATE, "--duration", "5"), ("'5' has no unit", UNITS)),
        ((*RATE, "--duration", "0s"), ("'0s'", "above 0")),
        ((*RATE, "--messages", "5"), ("--messages", "--rate", "--duration")),
        ((*RATE, "--published"), ("--published", "--rate")),
        ((*RATE, "--burst", "0"), ("--burst 0", "1 … 1000000")),
        ((*RATE, "--arrival", "uniform"), ("'uniform'", "constant, poisson, onoff")),
        (("--lone", "--duration", "2s"), ("--duration", "--rate", "--messages")),
        (("--arrival", "poisson"), ("--arrival", "--rate 1000")),
        (("--burst", "2"), ("--burst", "--rate 1000")),
        (("--messages", "0"), ("--messages 0", "1 … 100000000")),
        (("--messages", "many"), ("--messages", "'many'", "200k")),
        (
            ("--rate", "10000000", "--duration", "100ms"),
            ("--rate 1e+07 for 0.1 s", "1,000,000 messages", "20 s in every run", "--duration"),
        ),
        (("--receive-buffer", "0"), ("'0'", "above 0")),
        (("--receive-buffer", "2GiB"), ("--receive-buffer", "above 1GiB")),
        (("--receiver-command", "'"), ('"\'"', "No closing quotation")),
        (("--receiver-command", "./none-such"), ("'./none-such'", "PATH")),
        (("--receiver-command", ""), ("''", "PATH")),
        (
            ("--cross-check", "--link", "wifi"),
            ("--link cannot be combined with --cross-check", "loopback"),
        ),
        (("--cross-check", "--rate", "1000"), ("--cross-check cannot be combined with --rate",)),
        (
            ("--cross-check", "--only", "runtime=loop"),
            ("combined with --only",),
        ),
        (
            ("--cross-check", "--producers", "2"),
            ("combined with --producers",),
        ),
        (("--cross-check", "--probe", "10ms"), ("--cross-check cannot be combined with --probe",)),
        (("--cross-check", "--size", "1..500"), ("--cross-check needs one size",)),
    ],
    "rr": [
        *ALL,
        *WITH_UNTIL,
        (("--until", "2%", "--strategy", "nodelay"), NOTHING_COMPARED),
        (("--scenario", "one-write", "--until", "2%"), ("--until: a scenario",)),
        (("--scenario", "one-write", "--max-time", "5s"), ("--max-time: a scenario",)),
        *WITH_SERVER,
        (("--connections", "one"), ("'one'", "per-request, per-caller, shared")),
        (("--runtime", "loop"), ("'loop'", "threads, asyncio, uvloop, native")),
        (("--strategy", "cork"), ("'cork'", "nagle, nodelay")),
        (("--server-runtime", "java"), ("'java'", "native, asyncio, uvloop")),
        (("--sends-per-request", "0"), ("--sends-per-request 0", "1 … 10010")),
        (("--callers", "200"), ("'200'", "2x100")),
        (("--callers", "0x5"), ("'0x5'", "2x100")),
        (("--callers", "9999x9999"), ("9999x9999", "2048")),
        (("--request", "0"), ("'0'", "above 0")),
        (("--request", "17MiB"), ("--request", "above 16MiB")),
        (("--reply", "1GiB"), ("--reply", "above 16MiB")),
        (("--reply-bytes", "2"), ("--reply-bytes", "--server HOST:PORT", "--reply")),
        (
            ("--reply-bytes", "2", "--reply", "2", "--server", "127.0.0.1:9"),
            ("--reply and --reply-bytes", "leave out --reply"),
        ),
        (
            ("--reply-bytes", "2", "--server", "127.0.0.1:9", "--scenario", "one-write"),
            ("--reply-bytes, --server: a scenario",),
        ),
        (
            ("--reply-bytes", "2", "--server", "127.0.0.1:9", "--cross-check"),
            ("--reply-bytes, --server: --cross-check",),
        ),
        (("--reply-bytes", "17MiB", "--server", "127.0.0.1:9"), ("--reply-bytes", "above 16MiB")),
        (("--depth", "2"), ("--depth", "--connections shared")),
        (("--backlog", "0"), ("--backlog 0", "1 … ", "net.core.somaxconn")),
        (("--backlog", "99999999"), ("--backlog 99999999", "net.core.somaxconn")),
        (("--server", "127.0.0.1:9", "--backlog", "5"), ("--server", "--backlog")),
        (("--calls", "5", "--duration", "1s"), ("--calls", "--duration")),
        (("--calls", "0"), ("--calls 0", "1 … ")),
        (("--duration", "5"), ("'5' has no unit",)),
        (("--duration", "48h"), ("--duration 172800s", "1ms … 86400s")),
        (("--scenario", "stall"), ("'stall'", "delayed-ack-stall")),
        (("--scenario", "one-write", "--request", "5"), ("--request", "--scenario")),
        (("--scenario", "one-write", "--pin", "none"), ("--pin", "--scenario")),
        (
            ("--cross-check", "--link", "veth"),
            ("--link cannot be combined with --cross-check", "loopback"),
        ),
        (("--scenario", "one-write", "--link", "wifi"), ("--link", "--scenario", "loopback")),
        (("--cross-check", "--callers", "2x2"), ("--callers: --cross-check sets this itself",)),
        (
            ("--cross-check", "--runtime", "threads"),
            ("--runtime: --cross-check sets this itself",),
        ),
        (("--cross-check", "--probe", "10ms"), ("--probe: --cross-check sets this itself",)),
        (
            ("--cross-check", "--request", "10", "--reply", "2"),
            ("--request and --reply to be equal",),
        ),
    ],
    "echo": [
        *ALL,
        *WITH_UNTIL,
        (("--until", "2%", "--only", "runtime=native", "--size", "100"), NOTHING_COMPARED),
        *WITH_SERVER,
        (("--only", "runtime=twisted"), ("'twisted'", ECHO_RUNTIMES)),
        (("--tls", "--runtime", "native"), ("runtime=native over TLS", "threads: recv, recv_into")),
        (("--tls", "--only", "asyncio/sock"), ("server=sock", "over TLS", "asyncio: streams")),
        (("--tls", "--server", "127.0.0.1:9"), ("--tls cannot be combined with --server",)),
        (
            ("--tls", "--server-command", "true"),
            ("combined with --server-command", "only our own servers"),
        ),
        (("--tls", "--faulty", "whole-buffer"), ("combined with --faulty", "does not encrypt")),
        (("--plain",), ("--plain needs --tls",)),
        (("--only", "server=epol"), ("'epol'", "sock, streams, protocol, buffered-protocol")),
        (("--only", "implementation=rust"), ("'rust'", "stdlib, tinygram, aiofastnet, external")),
        (("--only", "strategy=nagel"), ("'nagel'", "nagle, nodelay")),
        (("--only", "colour=blue"), ("'colour=blue'", "runtime, implementation, server, strategy")),
        (("--only", "server"), ("'server'", "KEY=VALUE")),
        (("--only", "runtime=native,server=recv"), ("no server is", "native: epoll")),
        (("--only", "runtime=external"), ("no server is runtime=external", "threads: recv")),
        (("--published", "--depth", "2"), ("--published", "--depth")),
        (("--size", "0"), ("'0'", "above 0")),
        (("--size", "2GiB"), ("--size", "'2GiB'", "above 1GiB")),
        (("--size", "1..500"), ("'1..500'", "64KiB")),
        (("--workers", "0"), ("--workers 0", "1 … 256")),
        (("--depth", "0"), ("--depth 0", "1 … 65536")),
        (("--depth", "65536", "--size", "64KiB"), ("--depth 65536", "1 GiB")),
        (("--reply", "whenever"), ("'whenever'", "per-read, per-message")),
        (("--buffer", "0"), ("'0'", "above 0")),
        (("--buffer", "2GiB"), ("--buffer", "above 16MiB")),
        (("--messages", "0"), ("--messages 0", "1 … 100000000")),
        (("--messages", "5", "--duration", "1s"), ("--messages", "--duration")),
        (("--duration", "5"), ("'5' has no unit", UNITS)),
        (("--faulty", "slow"), ("'slow'", "whole-buffer")),
        (
            ("--faulty", "whole-buffer", "--reply", "per-message"),
            ("--faulty", "--reply per-message"),
        ),
        (("--faulty", "whole-buffer", "--only", "server=sock"), ("whole-buffer", "recv_into")),
        (("--server-command", "cat"), ("--server-command", "--port")),
        (("--port", "9000"), ("--port", "--server-command")),
        (("--server-command", "./none-such", "--port", "9000"), ("'./none-such'", "PATH")),
        (("--server-command", "'", "--port", "9000"), ("No closing quotation",)),
        (("--server-command", "cat", "--port", "0"), ("--port 0", "1 … 65535")),
        ((*PROGRAM, "--server", "127.0.0.1:9000"), ("--server", "--server-command")),
    ],
    "sizes": [
        *ALL,
        (("--until", "2%"), ("No such option: --until",)),
        *WITH_SERVER,
        (("--sizes", "0"), ("'0'", "above 0")),
        (("--sizes", "10..1"), ("'10..1'", "1..10")),
        (("--sizes", "1GiB"), ("'1GiB'", "1 B to 64 MiB")),
        (("--sizes", "64MiB"), ("2 round trips", "--sizes", "--round-trips")),
        (("--round-trips", "two"), ("'two'", "--round-trips 0,1,2")),
        (("--samples", "99"), ("--samples 99", "100 … 1000000")),
        (("--first", "0"), ("--first 0", "1 … 1000000")),
        (("--setup-writes", "3"), ("--setup-writes 3", "1 … 2")),
        (("--strategy", "cork"), ("'cork'", "nodelay, nagle")),
        (
            ("--sizes", "1", "--round-trips", ",".join(map(str, range(300)))),
            ("256 cases", "these are 300", "--sizes", "--lone"),
        ),
        (("--predict", "soon"), ("'soon'", "64KiB")),
    ],
    "serve": [
        (("--bind", "nowhere"), ("'nowhere'", "not an IP address of this host")),
        (("rr2",), ("'rr2'",)),
        (("sizes", "--port", "65536"), ("--port 65536", "0 … 65535")),
        (("sizes", "--max-message", "5GB"), ("--max-message", "5GB", "above 4294967295B")),
        (("sizes", "--max-message", "0"), ("'0'", "above 0")),
        (("sizes", "--max-messages", "-1"), ("--max-messages -1",)),
        (("sizes", "--max-connections", "0"), ("--max-connections 0", "1 … 100000")),
        (("sizes", "--congestion-control", "none-such"), ("'none-such'", "cubic")),
    ],
}


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The working directory, in which nothing may be measured."""
    monkeypatch.setattr(resuming, "measure_and_show", nothing_may_start)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def nothing_may_start(*_arguments: object, **_options: object) -> None:
    raise AssertionError("the measurement was begun")


def call_main(monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    monkeypatch.setattr(sys, "argv", ["tinygram", *words])
    with pytest.raises(SystemExit) as exited:
        main()
    return exited.value.code


def check_told(capsys: pytest.CaptureFixture[str], said: tuple[str, ...]) -> None:
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tinygram: error: ")
    assert captured.err.count("\n") == 1
    for part in said:
        assert part in captured.err


@pytest.mark.parametrize(
    ("words", "said"),
    [((command, *words), said) for command, wrong in BY_COMMAND.items() for words, said in wrong],
    ids=lambda value: " ".join(value)[:40],
)
def test_it_is_one_line_with_the_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    words: tuple[str, ...],
    said: tuple[str, ...],
) -> None:
    assert call_main(monkeypatch, *words) == 2
    check_told(capsys, said)
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", sorted(BY_COMMAND.keys() - {"serve"}))
def test_what_is_right_does_begin_a_measurement(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["tinygram", command])
    with pytest.raises(AssertionError, match="the measurement was begun"):
        main()


def test_scenarios_are_listed_and_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert call_main(monkeypatch, "rr", "--scenarios") == 0
    assert "backlog-overflow: " in capsys.readouterr().out
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("workload", ["rr", "sizes"])
def test_a_port_that_is_taken_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workload: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert call_main(monkeypatch, "serve", workload, "--port", port) == 2
    check_told(capsys, (f"cannot listen on port {port}: Address already in use", "--port"))


@pytest.mark.parametrize("command", sorted(BY_COMMAND.keys() - {"serve"}))
def test_a_typo_in_any_quantity_is_told_by_its_option_before_all_else(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    command: str,
) -> None:
    """Beside `--server nowhere`, say: what is read first is what was mistyped."""
    quantities = {"COUNT", "DURATION", "SIZE", "SIZE[-SIZE]", "RATE"}
    parameters = get_command(app).commands[command].params  # type: ignore[attr-defined]
    options = [each.opts[0] for each in parameters if each.metavar in quantities]
    assert len(options) >= 5
    for option in options:
        assert call_main(monkeypatch, command, "--link", "nowhere", option, "1x") == 2
        check_told(capsys, (f"tinygram: error: {option}: ", "1x"))
    assert list(folder.iterdir()) == []


def test_a_fault_on_the_values_of_a_file_says_where_it_is(tmp_path: Path) -> None:
    fault = r"\(KeyError: 'gone', in test_refusals\.py, line \d+\)"
    values: dict[str, int] = {}
    with pytest.raises(UsageError, match=fault), made_of(tmp_path / "a.json"):
        values["gone"] += 1
