"""The opening: what was run, and how to read what follows."""

from __future__ import annotations

from tinygram.bench.result import Result

CPU = {
    "stream": "CPU is the sender's, its wake-ups for pacing and the receive work that the kernel "
    "does in its system calls included.",
    "echo": "CPU is the server's, of all its threads, the receive work that the kernel does in its "
    "system calls included. A round trip is measured by the client, in a closed loop: a slow "
    "server is asked less often.",
}


def opening_of(result: Result) -> tuple[str, ...]:
    """One paragraph each: the run, the intervals, the CPU columns."""
    plan = result.plan
    asked = len(plan.cases) * plan.rounds
    done = (
        "" if len(result.runs) == asked else f", stopped after {len(result.runs)} of {asked} runs"
    )
    cases = "1 case" if len(plan.cases) == 1 else f"{len(plan.cases)} cases"
    rounds = "1 round" if plan.rounds == 1 else f"{plan.rounds} rounds"
    run = f"{' '.join(result.command)}: {cases}, {rounds} in random order (seed {plan.seed}){done}."
    workloads = dict.fromkeys(case.workload for case in plan.cases)
    return run, _how_to_read(result), *(CPU[each] for each in workloads if each in CPU)


def _how_to_read(result: Result) -> str:
    confidences = [summary.confidence for summary in result.summaries if summary.rounds]
    if not any(confidences):
        return "Figures of a single round: nothing tells how sure they are."
    low, high = min(confidences), max(confidences)
    confidence = f"{low:.1%} confidence"
    if low != high:
        less = (
            "the more of a way's rounds failed"
            if any(run.failure is not None for run in result.runs)
            else "where a way was not measured in the last round"
        )
        confidence = f"{low:.1%} to {high:.1%} confidence, the less {less}"
    return (
        f"Figures are medians over the rounds; low–high holds the true median with {confidence}. "
        "Min, max and percentiles too rare for one round are those of all rounds together. Each "
        "interval and verdict stands by itself (no correction for many comparisons)."
    )
