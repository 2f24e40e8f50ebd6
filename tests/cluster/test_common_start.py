"""The common start, on the clock of each server: who gives it, and who cannot tell it."""

from __future__ import annotations

import json
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest

from tinygram_bench.cluster import running
from tinygram_bench.cluster.conductor import Lost
from tinygram_bench.cluster.order import Moment, Other
from tinygram_bench.cluster.ray_hosts import HostRef
from tinygram_bench.hosts.difference import MOST_NS, Difference

LEAD_S = 0.5
ASKED: list[str] = []


@dataclass
class Asked:
    """A host whose clock shows `now_ns`, and that of host `a` minus it `offset_ns`."""

    host: str
    now_ns: int = 0
    offset_ns: int = 0
    failing: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, bytes] = field(default_factory=dict)
    silent: bool = False
    steps: list[str] = field(default_factory=list)

    def ask(self, step: str, order: bytes) -> Future[bytes]:
        self.steps.append(step)
        ASKED.append(f"{self.host} {step}")
        future: Future[bytes] = Future()
        if self.silent:
            return future
        if step in self.failing:
            future.set_exception(RuntimeError(self.failing[step]))
            return future
        if step in self.wrong:
            future.set_result(self.wrong[step])
            return future
        answer: object = None
        if step == "now":
            answer = self.now_ns
        if step == "clock":
            assert msgspec.json.decode(order, type=Other).port == 7
            answer = Difference(0, self.offset_ns, 0.0, 40)
        future.set_result(msgspec.json.encode(answer))
        return future


def starts_of(*hosts: Asked) -> dict[str, Moment | Lost]:
    ASKED.clear()
    return servers_of(*hosts).starts(LEAD_S)


def servers_of(*hosts: Asked) -> running._Servers:
    refs = cast("list[HostRef]", list(hosts))
    return running._Servers(refs, {each.host: 7 for each in hosts})


def test_the_start_is_the_same_moment_on_each_clock() -> None:
    found: dict[str, Any] = starts_of(Asked("a", now_ns=10**9), Asked("b", offset_ns=300))
    assert found == {"a": Moment(1_500_000_000, 0), "b": Moment(1_499_999_700, 40)}


def test_the_clocks_are_looked_at_before_the_time_is_told_for_a_look_takes_a_while() -> None:
    starts_of(Asked("a"), Asked("b"), Asked("c"))
    assert ASKED[-3:] == ["b clock", "c clock", "a now"]


def test_one_server_is_asked_for_the_time_alone() -> None:
    only = Asked("a", now_ns=3)
    assert starts_of(only) == {"a": Moment(500_000_003, 0)}
    assert "clock" not in only.steps


def test_another_server_gives_the_time_where_the_first_is_lost_and_stays_so() -> None:
    first, second = Asked("a", failing={"ping": "it has died"}), Asked("b", now_ns=3)
    servers = servers_of(first, second)
    for _ in range(2):
        assert servers.starts(LEAD_S) == {"a": Lost("it has died"), "b": Moment(500_000_003, 0)}
    assert first.steps == ["ping"]


def test_a_server_that_cannot_ask_the_first_is_lost_and_the_others_are_not() -> None:
    other = Asked("b", failing={"clock": "no route to host"})
    found = starts_of(Asked("a"), other, Asked("c"))
    assert found["b"] == Lost("no route to host")
    assert {type(found[each]) for each in "ac"} == {Moment}


def test_a_server_that_does_not_answer_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_ANSWER_S", 0.05)
    found = starts_of(Asked("a"), Asked("b", silent=True))
    assert found["b"] == Lost("it did not answer in 0.05 s")


WRONG = {"another kind": b'"soon"', "no JSON": b"{", "nothing": b"null"}
TIMES = {"before its host was started": -1, "in 37 years": 1 << 60 | 1, "beyond 64 bits": 1 << 64}
NO_TIMES = WRONG | {name: b"%d" % each for name, each in TIMES.items()}
DIFFERENCE = {"since_ns": 1, "offset_ns": 1, "rate": 0.0, "bound_ns": 1}
WRONG_LINES: dict[str, dict[str, float]] = {
    "it stands still": {"rate": -1.0},
    "it goes backwards": {"rate": -2.0},
    "it is far too fast": {"rate": 1e300},
    "it is ahead by centuries": {"offset_ns": 1 << 63},
    "it is behind by more than 64 bits": {"offset_ns": -(1 << 64)},
    "it was looked at in a century": {"since_ns": 1 << 62},
    "it was looked at before it began": {"since_ns": -1},
    "it is better known than well": {"bound_ns": -1},
    "it is not known at all": {"bound_ns": 1 << 64},
}
NO_DIFFERENCES = WRONG | {
    name: json.dumps(DIFFERENCE | each).encode() for name, each in WRONG_LINES.items()
}


@pytest.mark.parametrize("said", NO_TIMES.values(), ids=NO_TIMES)
def test_a_server_that_tells_no_time_is_lost_by_name_and_another_gives_it(said: bytes) -> None:
    servers = servers_of(Asked("a", wrong={"now": said}), Asked("b", now_ns=3))
    found = servers.starts(LEAD_S)
    assert found["b"] == Moment(500_000_003, 0)
    assert_is_refused(found["a"])


@pytest.mark.parametrize("said", NO_DIFFERENCES.values(), ids=NO_DIFFERENCES)
def test_a_server_that_tells_no_difference_is_lost_and_the_others_are_not(said: bytes) -> None:
    found = starts_of(Asked("a"), Asked("b", wrong={"clock": said}), Asked("c"))
    assert_is_refused(found["b"])
    assert {type(found[each]) for each in "ac"} == {Moment}


@pytest.mark.parametrize("rate", [-0.5, 0.5])
@pytest.mark.parametrize("offset_ns", [-MOST_NS, MOST_NS])
@pytest.mark.parametrize("since_ns", [0, MOST_NS])
def test_the_start_of_a_difference_within_its_bounds_can_be_told(
    since_ns: int, offset_ns: int, rate: float
) -> None:
    far = Difference(since_ns, offset_ns, rate, 1)
    other = Asked("b", wrong={"clock": msgspec.json.encode(far)})
    found = starts_of(Asked("a", now_ns=MOST_NS), other)["b"]
    assert isinstance(found, Moment)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Moment) == found


def test_a_server_that_answers_a_ping_with_something_is_lost() -> None:
    assert_is_refused(starts_of(Asked("a", wrong={"ping": b"7"}))["a"])


def assert_is_refused(found: Moment | Lost) -> None:
    assert isinstance(found, Lost)
    assert found.why.startswith("what it says is none of tinygram ")
    assert found.why.endswith(": install the same version on all hosts")


def test_without_any_server_nobody_has_a_start() -> None:
    assert starts_of(Asked("a", failing={"now": "it has died"})) == {"a": Lost("it has died")}
