"""`--reply-bytes`: a program with a protocol of its own is measured, its replies unchecked."""

from __future__ import annotations

import pytest
from tests.rr.peers import saying
from tests.support.command import Command, Done, run_once
from tests.support.foreign_servers import peer

from tinygram_bench._native import CallContent
from tinygram_bench.workloads.rr.calling import RUNTIMES
from tinygram_bench.workloads.rr.cases import CONNECTIONS

REQUEST_BYTES = 100
REPLY = b"xxxx"
# A call before the start, so that the first look is at a connection that has been called on.
SMALL = ("--rounds", 1, "--callers", "1x2", "--calls", 20, "--warm-up", 1, "--pin", "none")
EACH_RUNTIME = [word for runtime in RUNTIMES for word in ("--runtime", runtime)]
PER_CALLER = (*EACH_RUNTIME, "--connections", "per-caller", "--request", REQUEST_BYTES)


def run_against(command: Command, port: int, *arguments: object) -> Done:
    return command.run(*words_against(port), *arguments)


def words_against(port: int) -> tuple[object, ...]:
    return (
        *(*SMALL, "--strategy", "nodelay", "--sends-per-request", 1),
        *("--server", f"127.0.0.1:{port}"),
    )


@pytest.fixture(scope="module")
def unchecked(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Callers of every runtime on connections of every kind, against one server."""
    with peer(saying(REQUEST_BYTES, REPLY)) as port:
        done = run_once(
            tmp_path_factory.mktemp("unchecked"),
            "rr",
            *(*words_against(port), *EACH_RUNTIME),
            *(word for kind in CONNECTIONS for word in ("--connections", kind)),
            *("--request", REQUEST_BYTES, "--reply-bytes", len(REPLY)),
        )
    assert done.code == 0, done.stderr
    assert len(done.runs) == len(RUNTIMES) * len(CONNECTIONS)
    assert "replies of 4 B (content unchecked)" in done.stdout
    return done


@pytest.mark.parametrize("connections", CONNECTIONS)
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_any_bytes_of_that_length_are_a_reply(
    unchecked: Done, runtime: str, connections: str
) -> None:
    [case] = [
        case
        for case in unchecked.result["plan"]["cases"]
        if (case["runtime"], case["parameters"]["connections"]) == (runtime, connections)
    ]
    run = unchecked.run_of(case["case_id"])
    assert run["failure"] is None
    assert run["counters"]["calls"] == 2 * 20
    assert case["parameters"]["checks_replies"] is False
    assert case["parameters"]["reply_bytes"] == len(REPLY)
    assert case["case_id"].endswith("/unchecked-replies")
    [said] = [each for each in run["warnings"] if each["code"] == "unchecked_replies"]
    assert "the content of the replies was not checked" in said["message"]


def test_a_server_as_the_published_one_answers_with_two_bytes_of_its_own(command: Command) -> None:
    """To requests of 10,010 bytes, in one send or in ten."""
    with peer(saying(10_010, b"OK")) as port:
        done = command.run(*(*SMALL, "--server", f"127.0.0.1:{port}", "--reply-bytes", "2"))
    assert done.code == 0, done.stderr
    assert [done.counters_of(index)["calls"] for index in range(8)] == [2 * 20] * 8


def test_without_it_the_same_server_is_wrong(command: Command) -> None:
    with peer(saying(REQUEST_BYTES, REPLY)) as port:
        done = run_against(command, port, *PER_CALLER, "--reply", len(REPLY))
    assert done.code == 1
    assert len(done.runs) == len(RUNTIMES)
    for run in done.runs:
        assert "reply to request 0 of a connection is wrong" in run["failure"], run["case_id"]


def test_longer_replies_than_were_named_fail_the_run(command: Command) -> None:
    with peer(saying(REQUEST_BYTES, REPLY + b"!")) as port:
        done = run_against(command, port, *PER_CALLER, "--reply-bytes", len(REPLY))
    assert done.code == 1
    assert len(done.runs) == len(RUNTIMES)
    for run in done.runs:
        said = "bytes of a reply came before request 1 of a connection"
        assert said in run["failure"], run["case_id"]
        assert "or more than it should" in run["failure"], run["case_id"]


def test_the_size_has_units_and_content_of_any_bytes_keeps_its_requests(command: Command) -> None:
    assert CallContent(4, 3, 1, has_any_replies=True).request(0) == CallContent(4, 3, 1).request(0)
    assert CallContent(4, 3, 1, has_any_replies=True).is_reply(0, b"any")
    assert not CallContent(4, 3, 1, has_any_replies=True).is_reply(0, b"longer")
    with peer(saying(REQUEST_BYTES, bytes(1000))) as port:
        done = run_against(command, port, "--request", "0.1k", "--reply-bytes", "1k")
    assert done.code == 0, done.stderr
    parameters = done.result["plan"]["cases"][0]["parameters"]
    assert parameters["reply_bytes"] == 1000
