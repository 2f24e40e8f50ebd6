"""What is asked of a cluster wrongly is told in one line, before Ray is asked for anything."""

from __future__ import annotations

import resource
import sys
from concurrent.futures import Future
from typing import cast

import pytest

from tinygram_bench.cli import main
from tinygram_bench.cli.commands.cluster.check import _SHOWN
from tinygram_bench.cluster import checking
from tinygram_bench.cluster.checking import SeenHost
from tinygram_bench.cluster.order import Facts, PathFacts
from tinygram_bench.cluster.ray_hosts import HostRef, Node
from tinygram_bench.cluster.running import _serving, facts_of
from tinygram_bench.hosts.keys import Keys
from tinygram_bench.model.errors import UsageError

AUTO = ("--cluster", "auto")
STREAM = ("stream", *AUTO, "--clients", "4")
RR = ("rr", *AUTO, "--clients", "4")
ECHO = ("echo", *AUTO, "--clients", "4")
WRONG = {
    "no address": (("stream", "--cluster", "there"), "is neither auto nor HOST:PORT"),
    "no port": (("stream", "--cluster", "192.0.2.7:0"), "is neither auto nor HOST:PORT"),
    "no cluster": (("stream", "--clients", "4"), "--clients needs --cluster auto"),
    "more servers than clients": ((*STREAM, "--servers", "5"), "--servers 4 at most"),
    "alone": ((*STREAM, "--lone"), "cannot be combined with --lone"),
    "a link": ((*STREAM, "--link", "wifi"), "cannot be combined with --link"),
    "swept round trips": ((*STREAM, "--sweep", "rtt=1ms..2ms"), "--sweep rtt"),
    "too short for slices of each": (
        (*STREAM, "--rate", "10", "--duration", "1s"),
        "allow --duration 8s or more",
    ),
    "slices too short for each": (
        (*STREAM, "--rate", "2k", "--slice", "20ms"),
        "--slice 20ms holds fewer than 20 messages of each of 4 clients at --rate 2000",
    ),
    "too few connections": (
        (*STREAM, "--connections", "7"),
        "--connections 7 are fewer than two for each of 4 clients: ask for 8 or more",
    ),
    "too high a rate for each": (
        (*STREAM, "--only", "loop/nodelay", "--rate", "8M", "--duration", "200ms"),
        "of --rate 8e+06 the largest share of 4 clients cannot be sent: --rate 2e+06 for 0.2 s",
    ),
    "too few callers": (
        (*RR, "--callers", "8x3"),
        "ask for 8x4 or more, or for fewer --clients",
    ),
    "counted calls": ((*RR, "--calls", "9"), "cannot be combined with --calls"),
    "a scenario": ((*RR, "--scenario", "backlog-overflow"), "cannot be combined with --scenario"),
    "another server": ((*RR, "--server", "127.0.0.1:9"), "cannot be combined with --server"),
    "too few workers": (
        (*ECHO, "--workers", "3"),
        "--workers 3 are fewer than the 4 clients that share them: ask for 4 or more",
    ),
    "too many workers": ((*ECHO, "--workers", "1025"), "--workers 1025 is outside 1 … 1024"),
    "too much in flight": (
        (*ECHO, "--workers", "9", "--depth", "512", "--size", "1MiB"),
        "would have 1610612736 bytes of each of 4 clients in flight",
    ),
    "too slow an echo for slices of each": (
        (*ECHO, "--workers", "4", "--rate", "40", "--duration", "1s"),
        "4 clients share --rate 40, and a slice has at least 20 messages of each: allow "
        "--duration 2s or more",
    ),
    "slices of an echo too short for each": (
        (*ECHO, "--workers", "4", "--rate", "2k", "--slice", "20ms"),
        "--slice 20ms holds fewer than 20 messages of each of 4 clients at --rate 2000",
    ),
    "counted messages": ((*ECHO, "--messages", "9"), "cannot be combined with --messages"),
    "a lone echo": ((*ECHO, "--lone"), "cannot be combined with --lone"),
    "a probe": ((*ECHO, "--probe", "1ms"), "cannot be combined with --probe"),
    "published figures": ((*ECHO, "--published"), "cannot be combined with --published"),
    "another program": (
        (*ECHO, "--server-command", "cat", "--port", "9000"),
        "cannot be combined with --server-command",
    ),
    "an echo server that runs": (
        (*ECHO, "--server", "127.0.0.1:9"),
        "cannot be combined with --server",
    ),
    "a link of an echo": ((*ECHO, "--link", "wifi"), "cannot be combined with --link"),
    "swept round trips of an echo": ((*ECHO, "--sweep", "rtt=1ms..2ms"), "--sweep rtt"),
    "clients of an echo without a cluster": (
        ("echo", "--clients", "4"),
        "--clients needs --cluster auto",
    ),
    "too short for a slice": ((*RR, "--duration", "9ms"), "allow --duration 20ms or more"),
}


def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that is said."""
    monkeypatch.setattr(sys, "argv", ["tinygram", *words])
    # Whatever is told before is told without Ray, too.
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert line.startswith("tinygram: error: ")
    return line


@pytest.mark.parametrize("wrong", WRONG)
def test_it_is_one_line_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    words, said = WRONG[wrong]
    assert said in told(monkeypatch, capsys, *words)


MANY = ("--connections", "2000", "--runtime", "native")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            (*RR, *MANY),
            "--connections of all clients of a server 2000 needs 2100 descriptors, and a process "
            "may have 1024 here (RLIMIT_NOFILE): raise the hard limit (ulimit -Hn 2100, as root), "
            "or ask for 924 at most",
        ),
        ((*RR, *MANY, "--servers", "2"), "--connections of all clients of a server 1000 needs"),
        ((*RR, *MANY, "--servers", "4"), "needs the Python package 'ray'"),
        (
            (*ECHO, "--workers", "1000", "--only", "threads/recv"),
            "--workers of all clients of a server 1000 needs 1100 descriptors",
        ),
    ],
    ids=["one server", "two", "enough servers", "echo"],
)
def test_a_server_must_be_able_to_have_the_connections_of_all_its_clients(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
) -> None:
    """Each client has a quarter, which fits."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    assert said in told(monkeypatch, capsys, *words)


@pytest.mark.parametrize(
    "words",
    [("cluster", "check"), ("stream", *AUTO), RR, ECHO],
    ids=["check", "stream", "rr", "echo"],
)
def test_where_ray_is_not_installed_it_is_said_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    line = told(monkeypatch, capsys, *words)
    assert "--cluster needs the Python package 'ray' on every host" in line
    assert "pip install 'tinygram[cluster]'" in line


class Saying:
    """A host that answers to whatever it is asked with the same bytes."""

    host = "192.0.2.7"

    def __init__(self, said: bytes) -> None:
        self._said = said

    def ask(
        self,
        step: str,  # noqa: ARG002 - it hears nothing
        order: bytes = b"null",  # noqa: ARG002 - it hears nothing
    ) -> Future[bytes]:
        answered: Future[bytes] = Future()
        answered.set_result(self._said)
        return answered


REMEDY = r"is none of tinygram .*: install the same version on all hosts"


def test_what_another_tinygram_says_of_its_host_is_told_in_one_line() -> None:
    refs = [cast(HostRef, Saying(b'{"version": "0.9"}'))]
    with pytest.raises(UsageError, match=r"what 192\.0\.2\.7 says of itself " + REMEDY):
        facts_of(refs)


@pytest.mark.parametrize("said", [b'{"port": 0}', b"5201", b"null", b"{"])
def test_where_a_host_serves_is_a_port_or_refused_in_one_line(said: bytes) -> None:
    refs = [cast(HostRef, Saying(said))]
    keys = Keys(b"", b"", b"")
    with pytest.raises(UsageError, match=r"what 192\.0\.2\.7 says when told to serve " + REMEDY):
        _serving(refs, 1, keys, keys)


def test_a_look_at_a_cluster_tells_of_a_host_with_another_tinygram_and_goes_on() -> None:
    said: Future[bytes] = Future()
    said.set_result(b'{"version": "0.9"}')
    node = Node("1", "192.0.2.7", "seven", 2.0)
    ref = HostRef(node, None, lambda _: pytest.fail("it is asked by `ask`"), lambda: None)
    (found,) = checking._each([ref], lambda _: said, Facts)
    assert isinstance(found, str)
    assert "install the same version on all hosts" in found


def test_the_path_to_the_first_host_and_the_way_back_are_not_mixed_up() -> None:
    there, back = (PathFacts(0, 1, 1, megabytes * 1e6) for megabytes in (10, 20))
    facts = Facts("0.1.0", "CPython 3.11", "6.18", {})
    host = SeenHost(Node("1", "192.0.2.7", "seven", 2.0), facts, there, back)
    cells = {each.column.name: each.text(host) for each in _SHOWN}
    assert float(cells["to first MB/s"]) == 10
    assert float(cells["from first MB/s"]) == 20
