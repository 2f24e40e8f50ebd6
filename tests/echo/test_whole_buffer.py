"""`--faulty whole-buffer`: what a server seems that sends its whole buffer, and that it is caught.

Such a server was published as several times faster than an event loop.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.command import Done, run_once

SERVERS = ("native/tinygram/epoll", "threads/stdlib/recv_into", "threads/stdlib/recvmsg_into")
ONLY = ",".join(
    ("runtime=native", "runtime=threads", *(f"server={way.split('/')[2]}" for way in SERVERS))
)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return run_once(
        *(tmp_path_factory.mktemp("whole-buffer"), "echo"),
        *("--faulty", "whole-buffer", "--only", ONLY, "--only", "strategy=nodelay"),
        *("--size", 1000, "--buffer", "4KiB", "--messages", 3_000, "--rounds", 1),
    )


def summary_of(done: Done, server: str) -> Any:
    found = [
        each
        for each in done.result["summaries"]
        if each["case"]["case_id"].startswith(f"echo/{server}/")
    ]
    assert len(found) == 1
    return found[0]


def test_the_command_succeeds_for_the_fault_was_asked_for(done: Done) -> None:
    assert done.code == 0, done.stderr
    assert all(run["failure"] is None for run in done.runs)


@pytest.mark.parametrize("server", SERVERS)
def test_the_faulty_one_has_figures_and_what_the_check_finds(done: Done, server: str) -> None:
    summary = summary_of(done, f"{server}:4KiB:whole-buffer")
    assert summary["figures"]["throughput_per_s"]["median"] > 0
    [found] = [each for each in summary["warnings"] if each["code"] == "faulty_server"]
    assert "not an echo" in found["message"]
    assert "that came back is not the one that was sent" in found["message"]
    assert "throughput" in found["figures"]


@pytest.mark.parametrize("server", SERVERS)
def test_the_honest_one_has_no_such_warning(done: Done, server: str) -> None:
    codes = {each["code"] for each in summary_of(done, f"{server}:4KiB")["warnings"]}
    assert "faulty_server" not in codes


def test_no_verdict_is_given_on_what_is_no_echo(done: Done) -> None:
    faulty = {
        each["case"]["case_id"]
        for each in done.result["summaries"]
        if each["case"]["parameters"]["fault"]
    }
    assert len(faulty) == 3
    for verdict in done.result["verdicts"]:
        if faulty & {verdict["case_id"], verdict["baseline_case_id"]}:
            assert verdict["verdict"] == "cannot_say"


def test_its_rows_say_so(done: Done) -> None:
    rows = [line for line in done.stdout.splitlines() if "whole-buffer" in line]
    assert any(line.startswith("threads/recv_into:4KiB:whole-buffer (faulty)") for line in rows)
