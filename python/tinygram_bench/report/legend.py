"""How to read a report: what was run, what the figures are, and how sure the intervals are."""

from __future__ import annotations

from dataclasses import dataclass

from tinygram_bench.model.result import Result

CPU = {
    "stream": "CPU is the sender's, its wake-ups for pacing and the receive work that the kernel "
    "does in its system calls included.",
    "echo": "CPU is the server's, of all its threads, the receive work that the kernel does in its "
    "system calls included. A round trip is measured by the client, in a closed loop: a slow "
    "server is asked less often.",
}


@dataclass(frozen=True)
class Legend:
    """In one sentence, and in full with one paragraph for each thing."""

    brief: str
    full: tuple[str, ...]


def legend_of(result: Result) -> Legend:
    """What every report says of its rounds, its intervals and its CPU columns."""
    plan = result.plan
    asked = len(plan.cases) * plan.rounds
    stopped = (
        "" if len(result.runs) == asked else f", stopped after {len(result.runs)} of {asked} runs"
    )
    cases = "1 case" if len(plan.cases) == 1 else f"{len(plan.cases)} cases"
    rounds = "1 round" if plan.rounds == 1 else f"{plan.rounds} rounds"
    run = f"{cases}, {rounds} in random order (seed {plan.seed}){stopped}."
    workloads = dict.fromkeys(case.workload for case in plan.cases)
    confidence = _confidence(result)
    if confidence is None:
        why = _without_interval(result)
        brief, intervals = why, why
    else:
        brief = f"Figures are medians; low–high holds the true median with {confidence}."
        intervals = (
            f"Figures are medians over the rounds; low–high holds the true median with "
            f"{confidence}{_fewer_rounds(result)}. The least, the greatest and percentiles too "
            "rare for one round are those of all rounds together. Each interval and verdict "
            "stands by itself (no correction for many comparisons)."
        )
    return Legend(
        f"{run} {brief}",
        (
            f"{' '.join(result.command)}: {run}",
            intervals,
            *(CPU[each] for each in workloads if each in CPU),
        ),
    )


def _without_interval(result: Result) -> str:
    """Why nothing is said of how sure the figures are."""
    most = max((summary.rounds for summary in result.summaries), default=0)
    if not result.runs:
        return "No run was finished, so there are no figures."
    if not most:
        return f"Every run failed ({len(result.runs)} of {len(result.runs)}): there are no figures."
    if any(run.failure is not None for run in result.runs) and len(_rounds_run(result)) > 1:
        return (
            "Each figure is of a single round, for the others failed: nothing tells how sure it is."
        )
    return "Figures of a single round: nothing tells how sure they are."


def _rounds_run(result: Result) -> set[int]:
    """Their numbers, failed runs included."""
    return {run.round for run in result.runs}


def _confidences(result: Result) -> list[float]:
    return [summary.confidence for summary in result.summaries if summary.rounds]


def _confidence(result: Result) -> str | None:
    """`98.4% confidence`, as a range where rounds failed; None where one round is all."""
    confidences = _confidences(result)
    if not any(confidences):
        return None
    low, high = min(confidences), max(confidences)
    return f"{low:.1%} confidence" if low == high else f"{low:.1%} to {high:.1%} confidence"


def _fewer_rounds(result: Result) -> str:
    confidences = _confidences(result)
    if min(confidences) == max(confidences):
        return ""
    if any(run.failure is not None for run in result.runs):
        return ", which is lower the more rounds of a case failed"
    return ", which is lower where a case was not measured in the last round"
