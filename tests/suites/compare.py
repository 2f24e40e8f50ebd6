"""What our loops do with a test that the stock loops do not, and what of it is accepted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.suites.modules import Outcome, Ran


@dataclass(frozen=True)
class Accepted:
    """Tests that may fail on our loops alone, and why: nothing that a program could miss."""

    reason: str
    tests: tuple[str, ...]
    since: tuple[int, int] = (3, 11)
    until: tuple[int, int] = (3, 99)
    """The first and the last Python whose tests do."""

    def concerns(self, version: tuple[int, int]) -> bool:
        """Whether it is about this Python."""
        return self.since <= version <= self.until


def complaints(
    stock: Ran, ours: Ran, accepted: Iterable[str], *, needs_connections: bool
) -> dict[str, str]:
    """What is wrong, each by a name that a second run has too; `accepted` is of this module."""
    found = {}
    for who, ran in ("the stock loops", stock), ("our loops", ours):
        if ran.ended:
            found[f"the process with {who}"] = f"the process with {who} {ran.ended}"
    if not any(outcome.name == "passed" for outcome in stock.tests.values()):
        found["nothing"] = "no test passed on the stock loops, so nothing was compared"
    if needs_connections and not ours.connections:
        found["connections"] = "no connection had a transport of ours, so nothing was tested"
    differences = _differences(stock, ours)
    accepted = set(accepted)
    for test in sorted(accepted - differences.keys()):
        found[test] = f"{test} is accepted as failing on our loops, but it does not fail"
    for test in sorted(differences.keys() - accepted):
        found[test] = differences[test]
    return found


def _differences(stock: Ran, ours: Ran) -> dict[str, str]:
    found = {}
    for test in stock.tests.keys() | ours.tests.keys():
        there = stock.tests.get(test, Outcome("did not run"))
        here = ours.tests.get(test, Outcome("did not run"))
        if here.name not in ("passed", there.name):
            found[test] = f"{test}: {here.name}, on the stock loops {there.name}\n{here.detail}"
    return found
