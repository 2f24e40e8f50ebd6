"""Clocks of a far host that are found wrongly, by an error that the test plants."""

from __future__ import annotations

import time

import pytest

from tinygram_bench.hosts.clock import Clock
from tinygram_bench.hosts.looks import Look


def ask_over_a_way(monkeypatch: pytest.MonkeyPatch, there_s: float, back_s: float) -> None:
    """Have every question to a far clock, and the answer, take so much longer on their way.

    The difference is then wrong by half of what the two ways differ in, and nobody can see that:
    the bound holds it.
    """
    ask = Clock._ask

    def slowly(clock: Clock) -> Look:
        asked_ns = time.monotonic_ns()
        time.sleep(there_s)
        found = ask(clock)
        time.sleep(back_s)
        heard_ns = time.monotonic_ns()
        middle_ns = (asked_ns + heard_ns) // 2
        far_ns = found.at_ns + found.offset_ns
        return Look(middle_ns, far_ns - middle_ns, heard_ns - asked_ns)

    monkeypatch.setattr(Clock, "_ask", slowly)


def tell_another_time(monkeypatch: pytest.MonkeyPatch, wrong_ns: int) -> None:
    """Have every far clock tell a time that is wrong by so much, which no bound holds."""
    ask = Clock._ask

    def wrongly(clock: Clock) -> Look:
        found = ask(clock)
        return found._replace(offset_ns=found.offset_ns + wrong_ns)

    monkeypatch.setattr(Clock, "_ask", wrongly)
