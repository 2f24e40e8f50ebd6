"""What `sizes` found, in words: the model, whether it holds, and what a local round trip costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tinygram_bench.model.result import Case, Figure, Result, Verdict, Warning
from tinygram_bench.report.formats import number, ratio_interval
from tinygram_bench.report.formats import ratio as ratio_text
from tinygram_bench.report.notes import (
    Note,
    failure_note,
    unavailable_note,
    warnings_as_notes,
)
from tinygram_bench.report.sizes.names import cell, size, way
from tinygram_bench.statistics.doubts import MIN_PAIRED_ROUNDS
from tinygram_bench.statistics.fits import TIME, Fit
from tinygram_bench.statistics.intervals import confidence_of
from tinygram_bench.statistics.sizes import is_exchange

TOLERANCE_PERCENT = 10.0
"""The model holds for a cell that is no further from it."""
MAX_NAMED = 4
_ANSWERED = {TIME, "part_p50_us"}


def closing_sentences(
    result: Result, fits: Sequence[Fit], parts: Mapping[str, Figure | None]
) -> tuple[str, ...]:
    """Two sentences for each way, then how the ways compare, then the local parts."""
    said = [sentence for fit in fits for sentence in _on_fit(fit)]
    said += _on_ways(result)
    said += _on_parts(parts)
    return tuple(said) or ("Nothing was measured.",)


def notes_of(result: Result) -> tuple[Note, ...]:
    """Failures, absences and warnings.

    Two modes are told of the figures that the answer rests on; of what the probe took, the first
    cell's share stands for all.
    """
    links = {case.link for case in result.plan.cases if is_exchange(case)}

    def named(case: Case) -> str:
        is_named = len(links) > 1 and is_exchange(case)
        return f"{cell(case)} over {case.link}" if is_named else cell(case)

    notes = [
        unavailable_note(named(absent.case), absent.reason) for absent in result.plan.unavailable
    ]
    cases = {case.case_id: case for case in result.plan.cases}
    for run in result.runs:
        if run.failure is not None:
            notes.append(failure_note(named(cases[run.case_id]), f"failed: {run.failure}"))
    probed: Warning | None = None
    for summary in result.summaries:
        for warning in summary.warnings:
            if warning.code == "two_modes" and not _ANSWERED.intersection(warning.figures):
                continue
            told = warning
            if warning.code == "probed":
                told = probed = probed or warning
            notes += warnings_as_notes(named(summary.case), [told])
    return tuple(notes)


def _on_fit(fit: Fit) -> Iterator[str]:
    name = way(fit.cases[0])
    if not fit.models:
        yield (
            f"{name}: no model: it takes two counts of --round-trips, two --sizes, and a round in "
            "which every cell succeeded"
        )
        return
    figures = fit.figures()
    setup, latency = figures["model_setup_us"], figures["model_latency_us"]
    rate = figures["model_mb_per_s"]
    assert setup is not None
    assert latency is not None
    law = f"time = {number(setup.median)} µs + trips × ({number(latency.median)} µs"
    if rate is None:
        yield (
            f"{name}: {law}): no bandwidth, since larger ones did not take longer in every round: "
            f"these sizes are too small to show it, or the host too noisy{_sure(fit)}."
        )
    else:
        yield f"{name}: {law} + bytes ÷ {number(rate.median)} MB/s){_sizes(figures)}{_sure(fit)}."
    yield f"{name}: {_whether_it_holds(fit)}."


def _sizes(figures: Mapping[str, Figure | None]) -> str:
    half, most = figures["model_n_half_bytes"], figures["model_n90_bytes"]
    if half is None or most is None:
        return ""
    return (
        f"; half of the bandwidth is reached at {size(half.median)}, nine tenths at "
        f"{size(most.median)}"
    )


def _sure(fit: Fit) -> str:
    rounds = len(fit.models)
    if rounds == 1:
        return " (a single round: nothing tells how sure)"
    return f", at {confidence_of(rounds):.1%} confidence from {rounds} rounds"


def _whether_it_holds(fit: Fit) -> str:
    rounds = len(fit.models)
    if rounds < MIN_PAIRED_ROUNDS:
        have = "1 round has" if rounds == 1 else f"{rounds} rounds have"
        return (
            f"whether the model holds cannot be said: {have} every cell, and {MIN_PAIRED_ROUNDS} "
            "are needed"
        )
    found = [(case, fit.residual_percent(case)) for case in fit.cases]
    residuals = [(case, residual) for case, residual in found if residual is not None]
    residuals.sort(key=lambda entry: -abs(entry[1].median))
    far = [entry for entry in residuals if _is_far(entry[1])]
    unsure = [entry for entry in residuals if not _is_far(entry[1]) and not _is_near(entry[1])]
    within = f"within {TOLERANCE_PERCENT:g} %"
    if far:
        return (
            f"the model does not hold: {len(far)} of {len(residuals)} cells are not {within} of "
            f"it: {_described(far)}"
        )
    if unsure:
        return (
            f"the model is not shown to fail, but of {len(unsure)} of {len(residuals)} cells it "
            f"cannot be said that they are {within} of it: {_described(unsure)}"
        )
    return (
        f"the model holds: all {len(residuals)} cells are {within} of it, the furthest: "
        f"{_described(residuals[:1])}"
    )


def _is_far(residual: Figure) -> bool:
    return residual.low > TOLERANCE_PERCENT or residual.high < -TOLERANCE_PERCENT


def _is_near(residual: Figure) -> bool:
    return residual.low >= -TOLERANCE_PERCENT and residual.high <= TOLERANCE_PERCENT


def _described(residuals: Sequence[tuple[Case, Figure]]) -> str:
    """`1 MB × 2 took 23 % longer (20 to 27)`, the furthest first."""
    told = [
        f"{cell(case)} took {abs(residual.median):.1f} % "
        f"{'longer' if residual.median >= 0 else 'shorter'} "
        f"({residual.low:+.1f} to {residual.high:+.1f})"
        for case, residual in residuals[:MAX_NAMED]
    ]
    more = len(residuals) - MAX_NAMED
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "")


def _on_ways(result: Result) -> list[str]:
    """How a way compares with the first one: its slowest and its fastest cell, and the doubts."""
    cases = {case.case_id: case for case in result.plan.cases}
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in result.verdicts:
        case, baseline = cases[verdict.case_id], cases[verdict.baseline_case_id]
        found.setdefault((way(case), way(baseline)), []).append(verdict)
    sentences = []
    for (name, baseline_name), verdicts in found.items():
        parts = []
        for word in ("slower", "faster"):
            those = [each for each in verdicts if each.verdict == word]
            if those:
                most = max(those, key=lambda each: abs(each.ratio.median - 1) if each.ratio else 0)
                assert most.ratio is not None
                parts.append(
                    f"{word} in {len(those)} of {len(verdicts)} cells, most at "
                    f"{cell(cases[most.case_id])}: {ratio_text(most.ratio.median)} × "
                    f"({ratio_interval(most.ratio)})"
                )
        doubts = [each for each in verdicts if each.verdict == "cannot_say"]
        if doubts:
            parts.append(
                f"it cannot be said of {len(doubts)} of {len(verdicts)} cells: {doubts[0].reason}"
            )
        what = "; ".join(parts) or f"no difference shown in {len(verdicts)} cells"
        sentences.append(f"{name}, against {baseline_name}: {what}.")
    return sentences


def _on_parts(parts: Mapping[str, Figure | None]) -> list[str]:
    calls, stack = parts.get("system calls"), parts.get("stack")
    if calls is None or stack is None:
        return []
    told = [
        f"four system calls {number(calls.median)} µs, the stack both ways "
        f"{number(stack.median)} µs"
    ]
    for name, where in (("same core", "on the same core"), ("other core", "on another core")):
        waking = parts.get(name)
        if waking is not None:
            told.append(f"another thread {where} {number(waking.median)} µs more")
    return [f"A round trip of 1 B on this host: {'; '.join(told)}."]
