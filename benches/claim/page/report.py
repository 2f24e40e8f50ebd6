"""The page of the claim, results/claim.md, from a result file alone: the answer first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from claim.grid import ARRIVALS, BURSTS, LOOPBACK, OURS, PRODUCERS, RATES_PER_S
from claim.judging.calibration import THE_PICK
from claim.judging.margins import FLOOR_QUANTILE, LARGE_LOSS, LARGEST_MARGIN, SMALLEST_MARGIN
from claim.judging.picks import BESIDE, DECIDING, READINGS, Reading
from claim.judging.samples import Samples
from claim.judging.yardstick import WRITE_COST_NS
from claim.page import tables
from claim.page.goals import count_of, goals_of, holds, lost_first
from claim.page.heatmap import heat_map
from claim.page.method import method
from claim.page.reasons import paid_elsewhere, reasons_of
from claim.page.wording import SHOWN, percent
from claim.result import ClaimResult, figures_in, is_whole, measured_cells, runtimes_of, whole_grid

CLAIM = (
    "*Without tuning, `adaptive` is not worse than the best fixed strategy of each cell,\n"
    "in latency and in CPU at the rate, and its worst regret over all cells is far below every\n"
    "single fixed strategy's.*"
)
_MARGINS = (
    f"The margin is {percent(SMALLEST_MARGIN)}, or what chance does on the runtime where that is "
    f"more, {percent(LARGEST_MARGIN)} at most"
)


def opening(result: ClaimResult) -> str:
    """The answer in a few sentences: what was measured, both readings, and the margins."""
    return "\n".join([_answer(result), "", *_readings(result), _narrow(result)])


def _answer(result: ClaimResult) -> str:
    whole = len(whole_grid(result))
    if not is_whole(result):
        why = ", and the measurement ended early" if result.is_early else ""
        return (
            f"This shows nothing of the claim: {measured_cells(result)} of the {whole} cells were "
            f"measured (grid *{result.grid}*){why}."
        )
    word = "holds" if holds(result) else "does not hold"
    return f"**The claim {word}**, over all {whole} cells: set *{result.set.name}*."


def _readings(result: ClaimResult) -> Iterator[str]:
    meaning = {
        DECIDING: "the one with the least delay + CPU time, which decides",
        BESIDE: "an ideal that no strategy has to reach alone",
    }
    for reading, explained in meaning.items():
        count, goals = count_of(result, reading), goals_of(result, reading)
        met = sum(goal.is_met for goal in goals)
        yield (
            f"- Beside *{READINGS[reading]}* ({explained}): {met} of {len(goals)} goals met. Of "
            f"{count.all} cells `adaptive` held {count.held}, lost {count.lost}, and "
            f"{count.undecided} are undecided; in {count.large} it is worse by more than "
            f"{percent(LARGE_LOSS)} by the estimate, in {count.shown_large} by the whole interval."
            f"{_others(result, reading)}"
        )


def _others(result: ClaimResult, reading: Reading) -> str:
    """How hard that is: what the fixed strategy that loses the fewest cells loses."""
    fixed = [
        each
        for each in result.judged.calibrations
        if each.reading == reading and each.strategy not in (OURS, THE_PICK)
    ]
    if not fixed:
        return ""
    best = min(fixed, key=lambda each: (each.count.lost, -each.count.held))
    return (
        f" The fixed strategy that loses the fewest, {best.strategy}, holds {best.count.held} and "
        f"loses {best.count.lost}."
    )


def _narrow(result: ClaimResult) -> str:
    texts = []
    for reading in (DECIDING, BESIDE):
        outcomes = Counter(verdict.narrow for verdict in result.judged.verdicts[reading])
        each = (f"{outcomes[name]} {name}" for name in ("held", "lost", "undecided"))
        texts.append(f"{', '.join(each)} ({READINGS[reading]})")
    narrow = percent(SMALLEST_MARGIN)
    return f"- {_MARGINS}. With {narrow} everywhere, figure by figure: {'; '.join(texts)}."


def page(result: ClaimResult, by_hand: str = "", picture: str = "claim.svg") -> str:
    """The whole page; `by_hand`: what was written about the lost cells; `picture`: the heat map."""
    sections = [
        f"# The claim: no worse than the best fixed strategy, without tuning\n\n{CLAIM}\n",
        f"{opening(result)}\n",
        _goals(result, DECIDING, "These decide."),
        _goals(result, BESIDE, "The same goals, harder; they do not decide."),
        _not_shown(result),
        _how_hard(result),
        _worst(result),
        f"## Every strategy in every cell\n\n![Regret of each strategy in each cell]({picture})\n",
        _lost(result, by_hand),
        _counts(result),
        _yardsticks(result),
        _cells(result),
        _noise(result),
        method(result),
        _warnings(result),
        _where(result),
    ]
    return "\n".join(section for section in sections if section)


def _goals(result: ClaimResult, reading: Reading, role: str) -> str:
    return f"## Goals, beside {READINGS[reading]}\n\n{role}\n\n{tables.goals(result, reading)}"


def _not_shown(result: ClaimResult) -> str:
    cells = whole_grid(result)
    slow = [cell for cell in cells if cell.rate_per_s == RATES_PER_S[0]]
    loads = {(cell.arrival, cell.burst) for cell in slow}
    large = sum(cell.message_bytes == result.set.large_bytes for cell in cells)
    several = [cell for cell in cells if cell.producers > 1]
    usual = len(ARRIVALS) * len(BURSTS)
    if result.grid == "links":
        where = """- A part of the loads that are measured on loopback (claim.md).
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
- One connection, one direction, short runs, one machine.
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
    weights = tables.weights(result)
    return (
        "## How hard this is\n\n"
        "Each fixed strategy judged by the same rules, and the pick of each cell, which nobody "
        "knows\nbeforehand. Cells held / lost / undecided /\n"
        f"worse by more than {percent(LARGE_LOSS)} by the estimate (by the whole interval).\n\n"
        f"{tables.calibration(result)}\n"
        "What is best hangs on what CPU time is worth. In the paced cells, `adaptive`'s mean\n"
        "delay + weight × CPU time of a message ÷ that of the fixed strategy that is best at\n"
        "that weight; a weight of 0 is delay alone, ∞ CPU alone. Held and lost with a margin of "
        f"{percent(SMALLEST_MARGIN)}.\n\n{weights}"
    )


def _worst(result: ClaimResult) -> str:
    return (
        "## The worst regret of each strategy\n\n"
        "How much more than the best fixed strategy of a cell it costs, at the most over all\n"
        "cells: in delay + CPU more than the cell's one strategy, in a figure more than the best\n"
        "in it. What cannot keep up with the rate is left out, and in the brackets: its regret\n"
        "grows with the length of the run. The maximum of many noisy ratios is too large, most of\n"
        "all where the true ones are small; *shown* is the largest lower end of an interval.\n\n"
        f"{tables.worst(result)}\n{tables.worst_places(result)}\n"
        "Delay + CPU, runtime by runtime:\n\n"
        f"{tables.worst_by_runtime(result)}"
    )


def _lost(result: ClaimResult, by_hand: str) -> str:
    parts = [f"## What is lost, and why\n\n{by_hand}".rstrip() + "\n"]
    samples = Samples.of(result.runs)
    for reading in (DECIDING, BESIDE):
        lost = lost_first(result.judged.verdicts[reading])
        title = f"### Beside {READINGS[reading]}\n"
        if not lost:
            parts.append(f"{title}\nNothing.\n")
            continue
        counts = reasons_of(samples, lost)
        reasons = [
            f"- {SHOWN[figure]}, {count} ×: {reason}"
            for figure in figures_in(result)
            for (name, reason), count in counts.most_common()
            if name == figure
        ]
        paced = [verdict for verdict in lost if verdict.figure != "throughput"]
        free = sum(1 for verdict in paced if not paid_elsewhere(result, samples, verdict))
        parts.append(
            "\n".join([title, *reasons, ""])
            + f"\nIn {len(paced) - free} of {len(paced)} paced ones the winner is shown to be worse"
            " elsewhere in the\nsame cell, its whole interval beyond the margin; in "
            f"{free} it is not.\n\n{tables.lost(result, reading)}"
        )
    return "\n".join(parts)


def _counts(result: ClaimResult) -> str:
    text = (
        "## Held, lost, undecided\n\n"
        "Cells, by what is taken for the best fixed strategy. What is worse by more than\n"
        f"{percent(LARGE_LOSS)} is so by the estimate, in brackets by the whole interval.\n\n"
        f"{tables.readings(result)}"
    )
    for reading in (DECIDING, BESIDE):
        doubts = tables.doubts(result, reading)
        text += (
            f"\nFigures, beside {READINGS[reading]}; in the last two columns held / lost / "
            f"undecided by other rules:\n\n{tables.figure_counts(result, reading)}"
        )
        if doubts:
            text += f"\nNo verdict, or none but *lost*, whatever the interval says: {doubts}.\n"
    return text


def _yardsticks(result: ClaimResult) -> str:
    if not result.judged.yardsticks:
        return ""
    cost = result.judged.write_cost_ns
    shown = f"; by these runs a write costs {cost / 1_000:.1f} µs of CPU" if cost else ""
    return (
        "## Beside the offline optimum\n\n"
        "Delay and writes together, as multiples of the least that a plan can cost which knows\n"
        "all arrivals beforehand and whose writes take no time (Dooly, Goldman and Scott, JACM\n"
        f"2001). λ = {WRITE_COST_NS / 1_000:g} µs: so much delay of one message counts as one\n"
        f"write{shown}. The delay is what the strategy holds, that of a batch's first message\n"
        "counted for all of its messages: without what waits because the sender is busy, and what\n"
        "the kernel holds (`nagle`), so it may be too good. *Received*: from due to received, the\n"
        "way through the kernel included, which the optimum has not. Geometric means over the\n"
        f"cells in which a strategy keeps up.\n\n{tables.yardstick(result)}"
    )


def _cells(result: ClaimResult) -> str:
    parts = [
        "## Every cell\n\nThe outcome of the cell in both readings; then each figure of "
        f"`adaptive`, and its ratio to {READINGS[BESIDE]} with the interval. Above 1 is worse. "
        "*Above the floor*: the ratio of CPU time without what the load itself takes, whatever is "
        "sent when. The last column is of all even rounds together.\n"
    ]
    for runtime in runtimes_of(result):
        parts.append(f"### {runtime}\n\n{tables.cells_of(result, runtime)}")
    return "\n".join(parts)


def _noise(result: ClaimResult) -> str:
    text = (
        "## What chance does\n\n"
        "`nodelay` runs twice in a part of the cells, and is compared with itself by the same\n"
        f"rule. The margin is {percent(SMALLEST_MARGIN)}, or what {percent(FLOOR_QUANTILE)} of a\n"
        f"runtime's comparisons stay within, if that is more, and never above "
        f"{percent(LARGEST_MARGIN)}.\n\n{tables.floors(result)}"
    )
    if result.judged.warmth:
        text += (
            "\n`adaptive` ÷ `nodelay` by processes that stay, and serve one run after the other, "
            f"and by fresh ones:\n\n{tables.warmth(result)}"
        )
    return text


def _warnings(result: ClaimResult) -> str:
    codes = Counter(code for run in result.runs for code in run.warnings)
    lines = [f"- `{code}`: {count:,} runs" for code, count in codes.most_common()]
    lines += [
        f"- failed: {result.cells[run.cell].name}, {run.strategy}, round {run.round}: {run.failure}"
        for run in result.failures
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
        text += f"\nSet *{sizes.name}* was measured before: {'; '.join(result.earlier)}.\n"
    return text


def _links(result: ClaimResult) -> str:
    links = list(dict.fromkeys(cell.link for cell in result.cells))
    return links[0] if links == [LOOPBACK] else f"links {' and '.join(links)} (docs/links.md)"


__all__ = ["heat_map", "holds", "opening", "page"]
