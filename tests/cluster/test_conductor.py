"""Rounds that are conducted: all are told the same lengths, and those who fail are left out."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import msgspec
import pytest
from tests.support.plans.stream import planned

from tinygram_bench._native import Histogram
from tinygram_bench.cluster.conductor import Conductor, Lost
from tinygram_bench.cluster.order import BeginOrder, Measured, Moment
from tinygram_bench.cluster.shares import shared_out
from tinygram_bench.model.result import Case, Run

PLAN = planned("loop/nodelay", "loop/nagle", rates_per_s=[2_000.0], takes_turns=True, clients=3)


class Scripted:
    """A generator that answers at once, but for the steps that it is silent at, or fails at."""

    def __init__(
        self,
        host: str,
        lengths_ns: list[int] | None = None,
        silent: str = "",
        failing: str = "",
        server: str = "server",
        answers: Callable[[Case], Run] | None = None,
        wrong: dict[str, bytes] | None = None,
    ) -> None:
        self.host = host
        self.server = server
        self.has_ended = False
        self.asked: list[tuple[str, Any]] = []
        self._lengths_ns = lengths_ns
        self._silent = silent
        self._failing = failing
        self._run_of = answers or one_message
        self._wrong = wrong or {}
        self._cases: tuple[Any, ...] = ()

    def ask(self, step: str, order: bytes) -> Future[bytes]:
        future: Future[bytes] = Future()
        if step == "ping":
            if self._silent != "everything":
                future.set_result(b"null")
            return future
        self.asked.append((step, order))
        if step == self._failing:
            future.set_exception(RuntimeError("its disk is full"))
        elif step in self._wrong:
            future.set_result(self._wrong[step])
        elif self._silent not in (step, "everything"):
            future.set_result(msgspec.json.encode(self._answer(step, order)))
        return future

    def end(self) -> None:
        self.has_ended = True

    def _answer(self, step: str, order: bytes) -> object:
        if step == "begin":
            self._cases = msgspec.json.decode(order, type=BeginOrder).cases
            return self._lengths_ns or [1] * (2 + len(self._cases))
        if step == "warm":
            return None
        return Measured(tuple(map(self._run_of, self._cases)), 10, None, 0)


def one_message(case: Case) -> Run:
    latency = Histogram()
    latency.record(1_000)
    return Run(case.case_id, 0, {"messages": 1}, {"latency_ns": latency.to_base64()})


class OneServer:
    def starts(self, lead_s: float) -> dict[str, Moment | Lost]:  # noqa: ARG002 - no time passes here
        return {"server": Moment(123, 4)}


class OneOfTwoServers:
    def starts(self, lead_s: float) -> dict[str, Moment | Lost]:  # noqa: ARG002 - no time passes
        return {"server": Moment(123, 4), "dead": Lost("the host, or its Ray, has died")}


def conductor(
    *generators: Scripted,
    silent_s: float = 60.0,
    straggling_s: float = 60.0,
    servers: OneServer | OneOfTwoServers | None = None,
) -> tuple[Conductor, list[str]]:
    told: list[str] = []
    shares = partial(shared_out, clients=len(generators), seed=1)
    servers = servers or OneServer()
    return Conductor(generators, shares, servers, told.append, silent_s, straggling_s), told


def test_all_hear_the_longest_lengths_and_the_same_start() -> None:
    lengths_ns = [20, 1, 9, 4], [25, 3, 2, 5], [5, 2, 2, 6]
    hosts = [Scripted(name, own_ns) for name, own_ns in zip("abc", lengths_ns, strict=True)]
    made, told = conductor(*hosts)
    runs = made.run_cases(PLAN.cases, 0)
    for host in hosts:
        assert [step for step, _ in host.asked] == ["begin", "warm", "measure"]
        assert msgspec.json.decode(host.asked[1][1]) == [25, 3, 9, 6]
        assert msgspec.json.decode(host.asked[2][1]) == 123
    assert [run.counters["messages"] for run in runs] == [3, 3]
    assert [run.counters["step_error_ns"] for run in runs] == [28, 28]
    assert (told, made.lost, made.messages) == ([], {}, 9)


def test_cases_of_a_sweep_come_while_it_runs() -> None:
    made, _ = conductor(Scripted("a"), Scripted("b"))
    made.run_cases(PLAN.cases, 0)
    (later,) = planned("loop/nodelay", rates_per_s=[9e3], takes_turns=True, clients=2).cases
    (run,) = made.run_cases([later], 0)
    assert run.case_id == later.case_id
    assert [row.rate_per_s for row in run.hosts] == [4_500, 4_500]


@pytest.mark.parametrize("step", ["begin", "warm", "measure"])
def test_a_host_that_fails_is_left_out_from_then_on(step: str) -> None:
    failing = Scripted("b", failing=step)
    made, told = conductor(Scripted("a"), failing, Scripted("c"))
    for round in range(2):
        for run in made.run_cases(PLAN.cases, round):
            assert run.counters["generators"] == 2
            assert [row.failure for row in run.hosts] == [None, "its disk is full", None]
    assert [each for each, _ in failing.asked].count("begin") == 1
    assert told == ["b is left out from now on: its disk is full"]
    assert failing.has_ended


MEASURED = b'{"runs": [], "step_error_ns": 1, "step_fault": null, "late_ns": 0}'
REFUSED = "what it says is none of tinygram "


@pytest.mark.parametrize(
    ("step", "said", "why"),
    [
        ("begin", b'["20 ms"]', REFUSED),
        ("begin", b"[1, 1, 1]", "it did not tell the lengths of its slices"),
        ("begin", b"[1, 1, 1, 1, 1]", "it did not tell the lengths of its slices"),
        ("warm", b"7", REFUSED),
        ("measure", b"{}", REFUSED),
        ("measure", b"[" * 100_000, REFUSED),
        ("measure", MEASURED, "it did not tell a run of each case"),
    ],
    ids=[
        *("no lengths", "too few", "too many", "no silence"),
        *("no runs", "too deep", "none of the runs"),
    ],
)
def test_a_host_that_answers_something_else_is_left_out_and_told_of(
    step: str, said: bytes, why: str
) -> None:
    odd = Scripted("b", wrong={step: said})
    made, told = conductor(Scripted("a"), odd, Scripted("c"))
    for run in made.run_cases(PLAN.cases, 0):
        assert run.failure is None
        assert run.counters["generators"] == 2
        assert (run.hosts[1].failure or "").startswith(why)
    (line,) = told
    assert line.startswith(f"b is left out from now on: {why}")
    assert why != REFUSED or line.endswith("install the same version on all hosts")
    assert odd.has_ended


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize("is_first", [False, True], ids=["second", "first"])
def test_of_two_hosts_the_one_that_tells_other_lengths_is_left_out(
    is_first: bool, count: int
) -> None:
    """No majority says how many there must be, and the first has no more right than the other."""
    odd, fitting = Scripted("odd", [1] * count), Scripted("fitting")
    made, _ = conductor(*((odd, fitting) if is_first else (fitting, odd)))
    for run in made.run_cases(PLAN.cases, 0):
        assert (run.failure, run.counters["generators"]) == (None, 1)
    assert made.lost == {"odd": "it did not tell the lengths of its slices"}


def test_what_a_host_that_is_left_out_still_does_is_ended() -> None:
    slow = Scripted("slow", silent="measure")
    made, _ = conductor(Scripted("a"), slow, Scripted("c"), straggling_s=0.1)
    made.run_cases(PLAN.cases, 0)
    assert slow.has_ended


def test_generators_of_a_server_that_is_lost_are_left_out_and_the_others_go_on() -> None:
    orphan = Scripted("b", server="dead")
    made, told = conductor(Scripted("a"), orphan, servers=OneOfTwoServers())
    for run in made.run_cases(PLAN.cases, 0):
        assert run.failure is None
        assert run.counters["generators"] == 1
        why = "its server dead is lost: the host, or its Ray, has died"
        assert [row.failure for row in run.hosts] == [None, why]
    assert "measure" not in [step for step, _ in orphan.asked]
    assert told == [f"b is left out from now on: {why}"]


@pytest.mark.parametrize(
    ("silent", "straggling_s", "silent_s", "why"),
    [
        ("measure", 0.1, 60.0, "it straggled"),
        ("everything", 60.0, 0.1, "it has answered nothing"),
    ],
)
def test_a_host_that_straggles_or_is_silent_is_named(
    silent: str, straggling_s: float, silent_s: float, why: str
) -> None:
    slow = Scripted("slow", silent=silent)
    made, _ = conductor(
        Scripted("a"),
        slow,
        Scripted("c"),
        straggling_s=straggling_s,
        silent_s=silent_s,
    )
    for run in made.run_cases(PLAN.cases, 0):
        assert (run.hosts[1].failure or "").startswith(why)
        assert run.failure is None


def test_without_any_host_the_runs_have_failed() -> None:
    made, _ = conductor(*(Scripted(name, failing="begin") for name in "abc"))
    for run in made.run_cases(PLAN.cases, 0):
        assert "a: its disk is full" in (run.failure or "")
