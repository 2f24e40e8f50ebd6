"""The runs that `--resume FILE` keeps, and the changes of the environment that forbid resuming.

Laws: one result never mixes runs of two machines, or of two versions of tinygram or Python; a
lesser difference is a warning on every run that was made under it; an unfinished round is run
afresh, because its cases are compared with each other, and its rest may come days later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tinygram_bench.measurement.sweeping import asked_alike
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Plan, Result, Warning

_DECISIVE = {
    "architecture": "architecture",
    "cpu_model": "CPU",
    "cores": "number of cores",
    "python": "Python",
    "tinygram": "tinygram",
}
"""Facts of the environment that make figures incomparable, and what they are called."""
_FLEETING = ("load_average_1_5_15_min", "memory_bytes", "noise_floor")
_MAX_NAMED = 4


def whole_rounds_of(result: Result) -> Result:
    """The result without the runs of rounds in which a case, or a peer, was not run."""
    checked = result.cross_check
    peers: set[str] = set()
    done = {(run.case_id, run.round) for run in result.runs}
    if checked is not None:
        peers = {peer.peer_id for peer in checked.peers}
        done |= {(run.peer_id, run.round) for run in checked.runs}
    whole = {
        round
        for round in range(result.plan.rounds)
        if all(
            (each, round) in done
            for each in peers.union(case.case_id for case in result.plan.due(round))
        )
    }
    if checked is not None:
        kept = tuple(run for run in checked.runs if run.round in whole)
        checked = msgspec.structs.replace(checked, runs=kept)
    runs = tuple(run for run in result.runs if run.round in whole)
    return msgspec.structs.replace(result, runs=runs, cross_check=checked)


def check_plan(earlier: Result, plan: Plan, file: Path) -> None:
    """Raises UsageError unless the file's options give the same plan here as when it was begun."""
    before = earlier.plan
    if before.sweep is not None and plan.sweep is not None:
        # The earlier plan has grown.
        known = before.cases[: len(plan.cases)]
        if asked_alike(before.sweep, plan.sweep) and (known, before.seed) == (
            plan.cases,
            plan.seed,
        ):
            return
    elif (before.cases, before.rounds, before.seed) == (plan.cases, plan.rounds, plan.seed):
        return
    ids = {case.case_id for case in before.cases} ^ {case.case_id for case in plan.cases}
    what = ", ".join(sorted(ids)[:_MAX_NAMED]) or "the same cases with other parameters"
    raise UsageError(
        f"{file} cannot be resumed: its options give other cases here than when it began "
        f"({what}); resume it with the same packages and rights, or start a new measurement"
    )


def differences(earlier: Result, found: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """The facts of the environment that have changed since `earlier` was begun.

    Raises UsageError where figures from before and after are not comparable.
    """
    facts = {
        name: value
        for name, value in msgspec.json.decode(msgspec.json.encode(found)).items()
        if name not in _FLEETING and value != earlier.environment.get(name)
    }
    decisive = {name: words for name, words in _DECISIVE.items() if name in facts}
    if decisive:
        said = _said(decisive, earlier.environment, facts)
        raise UsageError(
            f"{file} cannot be resumed: figures of another {said} cannot be compared; resume it "
            "where it began, or start a new measurement"
        )
    return facts


def warning_of(earlier: Result, facts: Mapping[str, Any], host: str | None) -> Warning | None:
    """The warning on a run that was made after the environment had changed."""
    changed = {name: name for name in facts}
    before, now = dict(earlier.environment), dict(facts)
    if None not in (host, earlier.host) and host != earlier.host:
        changed["host"] = "host"
        before["host"], now["host"] = earlier.host, host
    if not changed:
        return None
    return Warning(
        "resumed_elsewhere",
        f"measured after the measurement was resumed with another {_said(changed, before, now)}",
    )


def _said(names: Mapping[str, str], before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    return ", ".join(_change(words, before.get(name), now[name]) for name, words in names.items())


def _change(words: str, before: Any, now: Any) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        inner: Iterable[str] = sorted(name for name in now if now[name] != before.get(name))
        return ", ".join(_change(name, before.get(name), now[name]) for name in inner) or words
    return f"{words} ({before} before, {now} now)"
