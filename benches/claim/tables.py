"""The page's tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from claim.goals import SHOWN, count_of, figures_in, goals_of, lost_first, of_figure, percent
from claim.grid import OURS, RUNTIMES, Cell, single
from claim.judge import SMALLEST_MARGIN, Verdict, outcome_of
from claim.reasons import Profile, facts_of, kind_of, paid_elsewhere
from claim.result import ClaimResult
from claim.samples import FigureName, Samples, figures_of
from claim.signed_rank import NO_BOUND
from claim.yardstick import middle_of
from tinygram.bench.result import Figure

_SIGN = {"held": "held", "lost": "**lost**", "undecided": "undecided"}


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A Markdown table, the first `left` columns to the left and the others to the right."""
    lines = [header, ["---"] * left + ["--:"] * (len(header) - left), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def ratio_text(ratio: Figure) -> str:
    """`1.02 (0.97–1.05)`."""
    if ratio.high >= NO_BOUND:
        return f"{ratio.median:.2f} (too few rounds)"
    return f"{ratio.median:.2f} ({ratio.low:.2f}–{ratio.high:.2f})"


def cost_text(figure: FigureName, cost_ns: float) -> str:
    """With its unit: µs of latency, CPU seconds per million messages, messages per second."""
    if figure == "throughput":
        return f"{1e9 / cost_ns / 1e6:.3g} M/s"
    if figure == "cpu":
        return f"{cost_ns / 1_000:.3g} s/M"
    return f"{cost_ns / 1_000:,.0f} µs" if cost_ns >= 10_000 else f"{cost_ns / 1_000:.1f} µs"


def goals(result: ClaimResult) -> str:
    """What is asked, and what was found."""
    rows = [
        (goal.text, goal.found, "yes" if goal.is_met else "**no**") for goal in goals_of(result)
    ]
    return table(("goal", "found", "met"), rows)


def counts(result: ClaimResult) -> str:
    """Held, lost and undecided, by figure."""
    rows = []
    for name, verdicts in _by_figure(result):
        count = count_of(verdicts)
        plain = [outcome_of(verdict.ratio, SMALLEST_MARGIN) for verdict in verdicts]
        every = [verdict.against_all for verdict in verdicts]
        rows.append(
            (
                name,
                *map(str, (count.all, count.held, count.lost, count.large, count.undecided)),
                f"{plain.count('held')} / {plain.count('lost')} / {plain.count('undecided')}",
                f"{every.count('held')} / {every.count('lost')} / {every.count('undecided')}",
            )
        )
    header = ("figure", "cells", "held", "lost", "by more than 10 %", "undecided")
    return table((*header, "with a margin of 5 %", "against all rivals at once"), rows)


def worst(result: ClaimResult) -> str:
    """The worst regret of each strategy, by figure."""
    figures = figures_in(result)
    found = {(each.strategy, each.figure): each for each in result.judged.worst}
    strategies = dict.fromkeys(single(name) for cell in result.cells for name in cell.strategies)
    rows = []
    for strategy in sorted(strategies, key=lambda name: name == OURS):
        cells = [f"**{strategy}**" if strategy == OURS else strategy]
        for figure in figures:
            each = found.get((strategy, figure))
            if each is None:
                cells.append("–")
            else:
                cells.append(f"{percent(each.regret)}, shown {percent(max(0.0, each.shown))}")
        rows.append(cells)
    return table(("strategy", *(SHOWN[figure] for figure in figures)), rows)


def worst_places(result: ClaimResult) -> str:
    """Where the worst regrets of ours are."""
    rows = [
        (SHOWN[each.figure], percent(each.regret), result.cells[each.cell].name)
        for each in result.judged.worst
        if each.strategy == OURS
    ]
    return table(("figure", "worst regret", "cell"), rows)


def lost(result: ClaimResult) -> str:
    """Every lost comparison, and why."""
    samples = Samples.of(result.runs)
    rows = []
    for verdict in lost_first(result.judged.verdicts):
        cell = result.cells[verdict.cell]
        ours = Profile.of(samples, verdict.cell, OURS)
        theirs = Profile.of(samples, verdict.cell, verdict.best)
        paid = [f"{SHOWN[name]} × {times:.2f}" for name, times in paid_elsewhere(result, verdict)]
        rows.append(
            (
                cell.name,
                SHOWN[verdict.figure],
                ratio_text(verdict.ratio),
                verdict.best,
                kind_of(verdict, ours, theirs),
                facts_of(ours, theirs),
                ", ".join(paid) or "nothing",
            )
        )
    header = ("cell", "figure", "adaptive ÷ winner", "winner", "why", "measured", "winner pays")
    return table(header, rows, left=7)


def cells_of(result: ClaimResult, runtime: str) -> str:
    """Every cell of a runtime: what ours costs, and how it compares."""
    verdicts = {(verdict.cell, verdict.figure): verdict for verdict in result.judged.verdicts}
    costs = {
        (each.cell, each.figure): each.cost_ns
        for each in result.judged.regrets
        if each.strategy == OURS
    }
    parts = []
    for paced in (True, False):
        numbers = [
            number
            for number, cell in enumerate(result.cells)
            if cell.runtime == runtime and (cell.rate_per_s is not None) == paced
        ]
        if not numbers:
            continue
        figures = figures_of(result.cells[numbers[0]])
        rows = []
        for number in numbers:
            row = [_load(result.cells[number])]
            for figure in figures:
                verdict = verdicts.get((number, figure))
                row.append(_compared(verdict, costs.get((number, figure))))
            rows.append(row)
        parts.append(table(("load", *(SHOWN[figure] for figure in figures)), rows))
    return "\n".join(parts)


def runtimes_of(result: ClaimResult) -> list[str]:
    """Those that were measured, in the usual order."""
    there = {cell.runtime for cell in result.cells}
    return [runtime for runtime in RUNTIMES if runtime in there]


def floors(result: ClaimResult) -> str:
    """The noise floors, and what the rule says of a strategy against itself."""
    rows = []
    for each in result.judged.floors:
        rate = "flat out" if each.rate_per_s is None else f"{each.rate_per_s / 1_000:g}k/s"
        outcomes = " / ".join(str(each.outcomes[name]) for name in ("held", "lost", "undecided"))
        row = (SHOWN[each.figure], rate, str(each.count), percent(each.floor))
        rows.append((*row, percent(each.largest), percent(each.margin), outcomes))
    header = ("figure", "rate", "comparisons", "nine of ten within", "largest", "margin")
    return table((*header, "held / lost / undecided"), rows, left=2)


def warmth(result: ClaimResult) -> str:
    """Warm ÷ cold."""
    rows = [
        (result.cells[each.cell].name, each.strategy, SHOWN[each.figure], ratio_text(each.ratio))
        for each in result.judged.warmth
    ]
    return table(("cell", "strategy", "figure", "staying ÷ fresh processes"), rows, left=3)


def yardstick(result: ClaimResult) -> str:
    """How many times the offline optimum each strategy costs: over the cells, and the worst."""
    names = {name: single(name) for cell in result.cells for name in cell.strategies}
    by_load = {
        load: middle_of([each for each in result.judged.yardsticks if each.cell in chosen], names)
        for load, chosen in _by_rate(result)
    }
    worst_times: dict[str, float] = {}
    for each in result.judged.yardsticks:
        for strategy, times in each.times.items():
            name = names[strategy]
            worst_times[name] = max(worst_times.get(name, 0.0), times)
    strategies = sorted(dict.fromkeys(names.values()), key=lambda name: name == OURS)
    rows = [
        (
            f"**{strategy}**" if strategy == OURS else strategy,
            *(_times(by_load[load].get(strategy)) for load in by_load),
            _times(worst_times.get(strategy)),
        )
        for strategy in strategies
    ]
    return table(("strategy", *by_load, "worst cell"), rows)


def _by_rate(result: ClaimResult) -> list[tuple[str, set[int]]]:
    rates = sorted({cell.rate_per_s for cell in result.cells if cell.rate_per_s is not None})
    found = [
        (
            f"{rate / 1_000:g}k/s",
            {number for number, cell in enumerate(result.cells) if cell.rate_per_s == rate},
        )
        for rate in rates
    ]
    everything = {number for _, numbers in found for number in numbers}
    return [*found, ("all", everything)]


def _by_figure(result: ClaimResult) -> list[tuple[str, list[Verdict]]]:
    verdicts = result.judged.verdicts
    parts = [(SHOWN[figure], of_figure(verdicts, figure)) for figure in figures_in(result)]
    return [*parts, ("**all**", list(verdicts))]


def _load(cell: Cell) -> str:
    return f"{cell.load}, {cell.message_bytes} B"


def _compared(verdict: Verdict | None, cost_ns: float | None) -> str:
    if verdict is None or cost_ns is None:
        return "not measured"
    marks = "°" if verdict.is_blurred else ""
    marks += "†" if verdict.overloaded else ""
    cost = cost_text(verdict.figure, cost_ns)
    return f"{cost}; {ratio_text(verdict.ratio)} {verdict.best}: {_SIGN[verdict.outcome]}{marks}"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"
