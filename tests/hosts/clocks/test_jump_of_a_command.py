"""A clock that jumps while a command measures: what the command says, keeps, and ends with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.command import Call

from tinygram_bench.hosts.clock import Clock
from tinygram_bench.hosts.difference import Followed
from tinygram_bench.hosts.looks import Look

JUMP_NS = 5 * 10**9
ROUNDS = 2
WAYS = ("loop/nodelay", "loop/cork")
"""They take turns, so that there are pauses in which the clock is looked at."""


@pytest.mark.parametrize("jump_ns", [JUMP_NS, -JUMP_NS])
def test_its_round_fails_by_that_name_an_earlier_one_is_kept_and_the_status_is_1(
    server: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump_ns: int
) -> None:
    ahead_ns = ended_runs = 0
    ask, look_between, followed = Clock._ask, Clock.look_between, Clock.followed

    def asked(clock: Clock) -> Look:
        found = ask(clock)
        return found._replace(offset_ns=found.offset_ns + ahead_ns)

    def looked_between(clock: Clock, until_ns: int, latest_ns: int | None = None) -> None:
        """It jumps in the midst of the second round."""
        nonlocal ahead_ns
        if ended_runs == len(WAYS):
            ahead_ns = jump_ns
        look_between(clock, until_ns, latest_ns)

    def followed_to_the_end(clock: Clock, since_ns: int) -> Followed:
        nonlocal ended_runs
        ended_runs += 1
        return followed(clock, since_ns)

    monkeypatch.setattr(Clock, "_ask", asked)
    monkeypatch.setattr(Clock, "look_between", looked_between)
    monkeypatch.setattr(Clock, "followed", followed_to_the_end)
    ended = call(
        *("stream", *(word for way in WAYS for word in ("--only", way))),
        *("--rate", "1k", "--duration", "500ms", "--rounds", ROUNDS),
        *("--server", server, "--json", "result.json"),
    )
    assert ended.returncode == 1, ended.stderr
    assert "a clock of the two hosts has jumped by about" in ended.stdout + ended.stderr
    runs = json.loads((tmp_path / "result.json").read_text())["runs"]
    assert [run["failure"] for run in runs[: len(WAYS)]] == [None] * len(WAYS)
    assert len(runs) == ROUNDS * len(WAYS)
    for run in runs[len(WAYS) :]:
        assert run["failure"].startswith("a clock of the two hosts has jumped by about ")
