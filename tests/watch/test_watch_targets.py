"""A number alone is a port or a process where it is one of them; what is unclear is asked back."""

from __future__ import annotations

import os

import pytest

from tinygram_bench.model.errors import UsageError
from tinygram_bench.watch.targets import MAX_PID, Target, parse_target

OWN = os.getpid()
ABSENT = MAX_PID
"""A process of the highest number is never there: numbers are below the limit."""


def parsed(text: str, *, is_port: bool) -> Target:
    return parse_target(text, lambda _: is_port)


def test_what_is_said_outright_is_not_looked_for() -> None:
    assert parsed(":8080", is_port=False) == Target(port=8080)
    assert parsed(f"pid:{OWN}", is_port=True) == Target(pid=OWN)


def test_a_number_alone_is_what_it_is_the_number_of(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parsed(str(OWN), is_port=False) == Target(pid=OWN)
    monkeypatch.setattr("tinygram_bench.watch.targets._is_process", lambda _: False)
    assert parsed("65535", is_port=True) == Target(port=65535)


def test_a_number_of_both_is_asked_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinygram_bench.watch.targets._is_process", lambda _: True)
    with pytest.raises(UsageError, match="write :8080 for the port, pid:8080 for the process"):
        parsed("8080", is_port=True)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("http", "'http' is neither a port nor a process"),
        ("-1", "'-1' is neither a port nor a process"),
        ("", "'' is neither a port nor a process"),
        ("pid:", "'pid:' is neither a port nor a process"),
        ("8080.5", "write a port"),
        ("٣", "is neither a port nor a process"),
        (":0", "the port 0 is outside 1 … 65535"),
        (":65536", "the port 65536 is outside 1 … 65535"),
        (f"pid:{ABSENT}", f"there is no process {ABSENT}"),
        ("pid:0", "there is no process 0"),
        (str(ABSENT), f"no socket has port {ABSENT}, and there is no process {ABSENT}"),
        ("9" * 10, "write :9999999999 to wait for the port"),
    ],
)
def test_what_is_neither_is_refused_with_a_remedy(text: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        parsed(text, is_port=False)


def test_it_is_called_by_what_it_is() -> None:
    assert [str(Target(port=80)), str(Target(pid=7))] == ["port 80", "process 7"]
