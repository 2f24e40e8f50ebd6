"""The page of the claim, from a result file alone: the answer first."""

from __future__ import annotations

from collections import Counter

from claim.grid import ARRIVALS, BURSTS, LOOPBACK, OURS, PRODUCERS, RATES_PER_S
from claim.judging.compare import LARGE_LOSS, MARGIN
from claim.judging.counts import is_bounded
from claim.judging.samples import Samples
from claim.page import tables
from claim.page.goals import count_of, goals_of, holds, lost_first
from claim.page.heatmap import heat_map
from claim.page.method import method
from claim.page.reasons import paid_elsewhere, reasons_of
from claim.page.wording import percent, told_earlier
from claim.result import ClaimResult, is_whole, measured_cells, runtimes_of, whole_grid

CLAIM = (
    "*Without tuning, `adaptive` is not worse than the best fixed strategy of each cell, in mean\n"
    "delay and CPU time together and flat out in messages a second, and its worst regret over all\n"
    "cells is far below every single fixed strategy's.*"
)


def opening(result: ClaimResult) -> str:
    """The answer in a few sentences: what was measured, and what came out."""
    found = [_answer(result), "", _counted(result), _others(result), _used_by_others(result)]
    return "\n".join(found).rstrip("\n")


def sentences(result: ClaimResult) -> tuple[str, str]:
    """The answer in two sentences, as plain text: what the result file has, and `report` shows."""
    count, goals = count_of(result), goals_of(result)
    met = sum(goal.is_met for goal in goals)
    return (
        _answer(result).replace("*", ""),
        f"Of {count.all} cells {OURS} held {count.held}, lost {count.lost}, and {count.undecided} "
        f"are undecided, with a margin of {percent(MARGIN)}; {met} of {len(goals)} goals are met.",
    )


def _answer(result: ClaimResult) -> str:
    whole = len(whole_grid(result))
    if not is_whole(result):
        slices = result.slice_ms
        why = "" if slices is None else f", in slices of {slices} ms or longer, not the grid's"
        why += ", and the measurement ended early" if result.is_early else ""
        return (
            f"This shows nothing of the claim: {measured_cells(result)} of the {whole} cells were "
            f"measured (grid *{result.grid}*){why}."
        )
    word = "holds" if holds(result) else "does not hold"
    return f"**The claim {word}**, over all {whole} cells: set *{result.set.name}*."


def _counted(result: ClaimResult) -> str:
    count, goals = count_of(result), goals_of(result)
    met = sum(goal.is_met for goal in goals)
    return (
        f"- {met} of {len(goals)} goals met. Of {count.all} cells `adaptive` held {count.held} "
        f"({count.held_by_counts} of them by counts, not by the clock), lost {count.lost} "
        f"({count.lost_by_counts} by counts), and {count.undecided} are undecided, with a margin "
        f"of {percent(MARGIN)}; in {count.large} it is worse by more than {percent(LARGE_LOSS)} by "
        f"the estimate, in {count.shown_large} by the whole interval.{_widths(result)}"
    )


def _widths(result: ClaimResult) -> str:
    """How well the clock knows the figure that decides, where it has an interval."""
    deciding = [each for each in result.judged.verdicts if each.is_deciding]
    halves = sorted(each.ratio.half_width for each in deciding if is_bounded(each.ratio))
    if not halves:
        return ""
    low, middle, high = (halves[round(share * (len(halves) - 1))] for share in (0.1, 0.5, 0.9))
    return (
        f" Half the width of the clock's interval is {percent(low)} to {percent(high)} (10 to 90 % "
        f"of the cells), {percent(middle)} in the middle."
    )


def _others(result: ClaimResult) -> str:
    """How hard that is: in how many cells the best fixed strategy is not good enough."""
    fixed = [each for each in result.judged.standings if each.strategy != OURS]
    if not fixed:
        return ""
    best = min(fixed, key=lambda each: each.over_margin)
    return (
        f"- Whoever takes one fixed strategy for everything does best with {best.strategy}, which "
        f"costs over {percent(MARGIN)} more than the best one in {best.over_margin} of "
        f"{best.cells} cells, and over {percent(LARGE_LOSS)} more in {best.over_large}."
    )


def _used_by_others(result: ClaimResult) -> str:
    """What else used the cores."""
    if not result.runs:
        return ""
    beside = sum("other_measurement" in run.warnings for run in result.runs) / len(result.runs)
    text = f"- In {percent(beside)} of the runs another measurement used the same cores"
    if result.others is None:
        return f"{text}."
    return (
        f"{text}; other programs had {percent(result.others.programs)} of the cores' time, and "
        f"other machines of the host took {percent(result.others.machines)}."
    )


def page(result: ClaimResult, by_hand: str = "", picture: str = "claim.svg") -> str:
    """The whole page; `by_hand`: what was written about the lost cells; `picture`: the heat map."""
    sections = [
        f"# The claim: no worse than the best fixed strategy, without tuning\n\n{CLAIM}\n",
        f"{opening(result)}\n",
        f"## Goals\n\n{tables.goals(result)}",
        _not_shown(result),
        _how_hard(result),
        f"## Every strategy in every cell\n\n![Regret of each strategy in each cell]({picture})\n",
        _lost(result, by_hand),
        _counts(result),
        _cells(result),
        _chance(result),
        method(result),
        _warnings(result),
        _where(result),
    ]
    return "\n".join(section for section in sections if section)


def _not_shown(result: ClaimResult) -> str:
    cells = whole_grid(result)
    slow = [cell for cell in cells if cell.rate_per_s == RATES_PER_S[0]]
    loads = {(cell.arrival, cell.burst) for cell in slow}
    large = sum(cell.message_bytes == result.set.large_bytes for cell in cells)
    several = [cell for cell in cells if cell.producers > 1]
    usual = len(ARRIVALS) * len(BURSTS)
    if result.grid == "links":
        where = """- A part of the loads that are measured on loopback (claim-confirm.md).
- The link's own delay is in the latency of every strategy, and draws ratios towards 1.
- Links are emulated, on the cores of the two ends (docs/links.md)."""
    else:
        where = """- Loopback alone: no wire, no loss, no round trip above some ten microseconds;
  claim-links.md has a part of the loads over links."""
    but_for = f", but for {len(several)} cells with\n  {PRODUCERS} of them" if several else ""
    others = (
        f"{large} of the {len(cells)} cells have {result.set.large_bytes} B, all others have\n"
        f"  {result.set.small_bytes} B."
        if large
        else f"All cells have {result.set.small_bytes} B."
    )
    return f"""## What this does not show

{where}
- `threads` means one thread that hands messages over{but_for}.
- At {RATES_PER_S[0]:,.0f} a second there are {len(loads)} of the {usual} loads of the other rates.
- {others}
- One connection, one direction, short slices, one machine. No p99 at 1,000 a second.
- {_cores(result)}
"""


def _cores(result: ClaimResult) -> str:
    if result.environment.get("cpu_latency_limit_us") == 0:
        return (
            "Cores that sleep while idle, as most do: here they were kept awake. Where they sleep, "
            "waking them adds to every strategy's latency and CPU time."
        )
    return (
        "Cores that are kept awake: here idle ones might sleep, and waking them is measured, too."
    )


def _how_hard(result: ClaimResult) -> str:
    return (
        "## How hard this is\n\n"
        f"In how many cells each strategy costs over {percent(MARGIN)} and over "
        f"{percent(LARGE_LOSS)} more than the best\nfixed one, by the estimate; and its worst "
        "regret, everywhere and on each runtime: how much more\nit costs, at the most. What cannot "
        "keep up with the rate is left out of the regrets. The maximum\nof many noisy ratios is "
        f"too large.\n\n{tables.standings(result)}"
    )


def _lost(result: ClaimResult, by_hand: str) -> str:
    title = f"## What is lost, and why\n\n{by_hand}".rstrip() + "\n"
    samples = Samples.of(result.runs)
    lost = lost_first(result.judged.verdicts)
    if not lost:
        return f"{title}\nNothing.\n"
    counts = reasons_of(samples, lost)
    reasons = [f"- {count} ×: {reason}" for reason, count in counts.most_common()]
    paced = [verdict for verdict in lost if verdict.figure != "throughput"]
    free = sum(1 for verdict in paced if not paid_elsewhere(result, samples, verdict))
    return (
        "\n".join([title, *reasons, ""])
        + f"\nIn {len(paced) - free} of {len(paced)} paced ones the winner is shown to be worse"
        " in a single figure of the\nsame cell, its whole interval beyond the margin; in "
        f"{free} it is not.\n\n{tables.lost(result)}"
    )


def _counts(result: ClaimResult) -> str:
    doubts = tables.doubts(result)
    text = (
        "## Held, lost, undecided\n\n"
        "Cells, and below them single figures, beside the strategy that is the best of the cell\n"
        "in delay + CPU time. What is worse by more than "
        f"{percent(LARGE_LOSS)} is so by the estimate, in brackets by\nthe whole interval.\n\n"
        f"{tables.counts(result)}"
    )
    if doubts:
        text += f"\nNo verdict, or none but *lost*, whatever the interval says: {doubts}.\n"
    return text


def _cells(result: ClaimResult) -> str:
    parts = [
        "## Every cell\n\nThe outcome, and beside which strategies; then each figure of "
        "`adaptive`, and its ratio to the first\nof them with the interval. Above 1 is worse.\n"
    ]
    for runtime in runtimes_of(result):
        parts.append(f"### {runtime}\n\n{tables.cells_of(result, runtime)}")
    return "\n".join(parts)


def _chance(result: ClaimResult) -> str:
    return (
        "## What chance does\n\n"
        "In a part of the cells `adaptive` runs twice, side by side, and is compared with itself "
        f"by the\nsame rule.\n\n{tables.chances(result)}"
    )


def _warnings(result: ClaimResult) -> str:
    codes = Counter(code for run in result.runs for code in run.warnings)
    lines = [f"- `{code}`: {count:,} runs" for code, count in codes.most_common()]
    lines += [
        f"- failed: {result.cells[each.run.cell].name}, {each.run.strategy}, round {each.round}: "
        f"{each.failure}"
        for each in result.failures
    ]
    if not lines:
        return ""
    return "\n".join([f"## Warnings and failures\n\nOf {len(result.runs):,} runs:\n", *lines, ""])


def _where(result: ClaimResult) -> str:
    facts, code, sizes = result.environment, result.code, result.set
    changed = ", with changes" if code.is_changed else ""
    is_awake = facts.get("cpu_latency_limit_us") == 0
    cores = "kept awake (CPU latency limit 0 µs)" if is_awake else "that may sleep while idle"
    text = f"""## Where

{facts.get("cpu_model")}, {facts.get("cores")} cores, Linux {facts.get("kernel")},
{facts.get("python")}, uvloop {facts.get("uvloop")}, {_links(result)}, cubic,
sender and receiver on a core each {cores}. Set *{sizes.name}*: seed {sizes.seed},
{sizes.small_bytes} and {sizes.large_bytes} B. Grid *{result.grid}*, begun {result.started_at},
{len(result.runs):,} runs, {len(result.failures)} failed.
Code {code.commit}{changed}, sources {code.sources_sha256}.
"""
    if result.judged_by != code.judge_sha256:
        text += (
            f"\nJudged by other code than was there when it was measured: {result.judged_by}"
            f" for {code.judge_sha256}.\n"
        )
    if result.earlier:
        text += f"\n{told_earlier(sizes.name, result.earlier)}\n"
    return text


def _links(result: ClaimResult) -> str:
    links = list(dict.fromkeys(cell.link for cell in result.cells))
    return links[0] if links == [LOOPBACK] else f"links {' and '.join(links)} (docs/links.md)"


__all__ = ["heat_map", "holds", "opening", "page"]
