"""The page of the claim, docs/claim.md, from a result file alone: the answer first."""

from __future__ import annotations

from claim import tables
from claim.goals import (
    SHOWN,
    count_of,
    figures_in,
    goals_of,
    holds,
    lost_first,
    percent,
    unmeasured,
)
from claim.grid import FLAT_OUT_NS
from claim.heatmap import heat_map
from claim.judge import FLOOR_QUANTILE, LARGEST_MARGIN, LOOK_ERRORS, LOOKS, SMALLEST_MARGIN
from claim.plan import HOPELESS
from claim.reasons import kinds_of, paid_elsewhere
from claim.regret import best_overall
from claim.result import ClaimResult
from claim.yardstick import WRITE_COST_NS

CLAIM = (
    "*Without tuning, `adaptive` is not worse than the best fixed strategy of each cell,\n"
    "in latency and in CPU at the rate, and its worst regret over all cells is far below every\n"
    "single fixed strategy's.*"
)


def opening(result: ClaimResult) -> str:
    """The answer in a few sentences."""
    count = count_of(result.judged.verdicts)
    missed = [goal for goal in goals_of(result) if not goal.is_met]
    missing = unmeasured(result)
    parts = []
    is_early = result.ending in ("out of time", "interrupted")
    if is_early or missing:
        why = f"ended early ({result.ending})" if is_early else "is not whole"
        parts.append(f"The measurement {why}: {missing} comparisons were not made.")
    if missed:
        parts.append(
            f"The claim does not hold: {len(missed)} of {len(goals_of(result))} goals missed."
        )
    else:
        parts.append("The claim holds: every goal is met.")
    parts.append(
        f"Of {count.all} comparisons with the best fixed strategy of a cell, `adaptive` held "
        f"{count.held}, lost {count.lost} ({count.large} by more than 10 %) and {count.undecided} "
        "are undecided."
    )
    if result.grid == "quick":
        parts.append(
            "This is the quick grid, which proves nothing of the cells that it leaves out."
        )
    return " ".join(parts)


def page(result: ClaimResult, by_hand: str = "", picture: str = "claim.svg") -> str:
    """The whole page; `by_hand`: what was written about the lost cells; `picture`: the heat map."""
    sections = [
        f"# The claim: no worse than the best fixed strategy, without tuning\n\n{CLAIM}\n",
        f"{opening(result)}\n",
        tables.goals(result),
        _counts(result),
        _worst(result),
        f"## Every strategy in every cell\n\n![Regret of each strategy in each cell]({picture})\n",
        _lost(result, by_hand),
        _yardsticks(result),
        _cells(result),
        _noise(result),
        _method(result),
        _where(result),
    ]
    return "\n".join(section for section in sections if section)


def _counts(result: ClaimResult) -> str:
    blurred = sum(verdict.is_blurred for verdict in result.judged.verdicts)
    net = [v for v in result.judged.verdicts if v.is_blurred and v.net_ratio is not None]
    beyond = sum(1 for v in net if v.net_ratio is not None and v.net_ratio.low > 1 + v.margin)
    text = (
        "## Held, lost, undecided\n\n"
        f"{tables.counts(result)}\n"
        "Beside the verdicts: what they would be with a margin of 5 % everywhere, and against all\n"
        "six rivals at once over all rounds, where nothing is picked (held / lost / undecided).\n"
    )
    if blurred:
        text += (
            f"\nIn {blurred} comparisons of latency, marked °, the pacer's own error is over a\n"
            "quarter of the latency: it is in both strategies, and draws their ratio towards 1.\n"
            f"With the pacer's median error taken off, {beyond} of the {len(net)} medians among\n"
            "them would be lost.\n"
        )
    return text


def _worst(result: ClaimResult) -> str:
    overall = best_overall(result.judged.worst)
    single = (
        f" The single fixed strategy whose worst is the least: {overall[0]}." if overall else ""
    )
    return (
        "## The worst regret of each strategy\n\n"
        "How much more than the best fixed strategy of a cell it costs, at the most over all\n"
        "cells; *shown* is the largest lower end of an interval: more than chance explains. The\n"
        "maximum of many noisy ratios is too large, most of all where the true ones are\n"
        f"small.{single}\n\n"
        f"{tables.worst(result)}\n{tables.worst_places(result)}"
    )


def _lost(result: ClaimResult, by_hand: str) -> str:
    lost = lost_first(result.judged.verdicts)
    if not lost:
        return "## What is lost\n\nNothing.\n"
    paced = [verdict for verdict in lost if verdict.figure != "throughput"]
    free = sum(1 for verdict in paced if not paid_elsewhere(result, verdict))
    return (
        f"## What is lost, and why\n\n{_reasons(result)}\n"
        f"In {len(paced) - free} of {len(paced)} paced ones the winner is worse elsewhere in the\n"
        f"same cell, by more than the margin; in {free} it wins for nothing.\n\n"
        f"{by_hand}\n{tables.lost(result)}"
    )


def _reasons(result: ClaimResult) -> str:
    counts = kinds_of(result, lost_first(result.judged.verdicts))
    lines = [
        f"- {SHOWN[figure]}, {count} times: {why}"
        for figure in figures_in(result)
        for (name, why), count in counts.most_common()
        if name == figure
    ]
    return "\n".join(lines) + "\n"


def _yardsticks(result: ClaimResult) -> str:
    if not result.judged.yardsticks:
        return ""
    cost = result.judged.write_cost_ns
    shown = f"; by these runs a write costs {cost / 1_000:.1f} µs of CPU" if cost else ""
    return (
        "## Beside the offline optimum\n\n"
        "Holds and writes together, as multiples of the least that a plan can cost which knows\n"
        "all arrivals beforehand and whose writes take no time (Dooly, Goldman and Scott, JACM\n"
        f"2001). λ = {WRITE_COST_NS / 1_000:g} µs: so much delay of one message counts as one\n"
        f"write{shown}. The hold of a batch's first message is counted for all of its messages.\n"
        "What waits because the sender is busy is not in it, nor what the kernel holds (`nagle`).\n"
        f"Geometric means over the cells.\n\n{tables.yardstick(result)}"
    )


def _cells(result: ClaimResult) -> str:
    parts = [
        "## Every cell\n\nWhat `adaptive` costs, its ratio to the best fixed strategy with the "
        "interval, that strategy, and the verdict. Above 1 is worse. ° the pacer's error is over a "
        "quarter of the latency; † a strategy cannot keep up with the rate.\n"
    ]
    for runtime in tables.runtimes_of(result):
        parts.append(f"### {runtime}\n\n{tables.cells_of(result, runtime)}")
    return "\n".join(parts)


def _noise(result: ClaimResult) -> str:
    text = (
        "## What chance does\n\n"
        "`adaptive` and `nodelay` run twice in a part of the cells, and are compared with\n"
        f"themselves by the same rule. The margin is {percent(SMALLEST_MARGIN)}, or what\n"
        f"{percent(FLOOR_QUANTILE)} of these comparisons stay within, if that is more, and never\n"
        f"above {percent(LARGEST_MARGIN)}.\n\n"
        f"{tables.floors(result)}"
    )
    if result.judged.warmth:
        text += (
            "\nProcesses that stay, and serve one run after the other, against fresh ones for each "
            f"run:\n\n{tables.warmth(result)}"
        )
    return text


def _method(result: ClaimResult) -> str:
    errors = ", ".join(f"{100 * error:.2g} %" for error in LOOK_ERRORS)
    looks = ", ".join(map(str, LOOKS))
    durations = sorted({cell.duration_ns // 1_000_000 for cell in result.cells if cell.rate_per_s})
    fewest = min((cell.scheduled_messages() for cell in result.cells if cell.rate_per_s), default=0)
    lasting = f"{durations[0]} to {durations[-1]} ms" if durations else "no time"
    return f"""## Method

- **Rivals**: the library's own `nodelay`, `nagle`, `tick` (threads: `combine`) and `coalesce` of
  10, 100 and 1,000 µs; one implementation, so that rules are compared and nothing else.
- **Cells**: {len(result.cells)}, all listed above. Paced runs last {lasting},
  flat out about {FLAT_OUT_NS // 1_000_000} ms. A run has {fewest:,} messages or more, so the p99
  of a round leaves at least {fewest // 100} latencies above it, of few bursts where they are large.
  What is compared is the middle of such rounds, which no single bad round moves.
- **Rounds**: in each, the cells in random order and their strategies in random order within, over
  the same arrivals; the next round has others. Processes live for one round. Every byte is
  compared, and writes are counted.
- **Fair test**: the odd rounds pick the best fixed strategy of a figure by its median, the even
  ones compare. The ratio is formed round by round; its middle and its interval are those of
  Wilcoxon's signed ranks (Hodges and Lehmann), exact for so few rounds, where a bootstrap is not.
- **Verdicts**: *held* when the whole interval is within the margin or better, *lost* when it is
  wholly beyond, else *undecided*. Each figure is judged by itself, against its own best strategy.
- **More rounds where undecided**: looks after {looks} rounds of a cell, no others. The intervals'
  errors at the looks are {errors}: together 5 %, half of it on either
  side (Bonferroni), so looking again adds none. A verdict uses all rounds up to the last look.
  Rivals that cost {HOPELESS:g} times the best in the odd rounds are not run again. Where time does
  not suffice for all, cells are drawn by lot.
- **CPU** is the sender's, user and system, without what the pacer spins.
- **Cannot keep up**: the last message arrives later than 5 % of the run's duration and 2 ms.
"""


def _where(result: ClaimResult) -> str:
    facts, code, sizes = result.environment, result.code, result.set
    changed = ", with changes" if code.is_changed else ""
    return f"""## Where

{facts.get("cpu_model")}, {facts.get("cores")} cores, Linux {facts.get("kernel")},
{facts.get("python")}, uvloop {facts.get("uvloop")}, loopback, cubic, sender and receiver on a core
each. Set *{sizes.name}*: seed {sizes.seed}, {sizes.small_bytes} and {sizes.large_bytes} B. Grid
*{result.grid}*, begun {result.started_utc} UTC, {result.seconds / 60:.0f} minutes,
{len(result.runs):,} runs, {len(result.failures)} failed ({result.ending}). Code
{code.commit}{changed}, sources {code.sources_sha256}.
"""


__all__ = ["heat_map", "holds", "opening", "page"]
