"""The page's tables in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from claim.grid import OURS, name_on_all_runtimes
from claim.judging.calibration import WEIGHTS
from claim.judging.compare import outcome_of
from claim.judging.judge import Count, Verdict, cell_outcome, count_cells, count_figures
from claim.judging.margins import FLOOR_QUANTILE, LARGE_LOSS, SMALLEST_MARGIN
from claim.judging.picks import BESIDE, DECIDING, READINGS, Reading
from claim.judging.samples import FigureName, Samples, figures_of
from claim.judging.yardstick import middle_of
from claim.page.goals import Goal, goals_of, lost_first
from claim.page.reasons import Profile, facts_of, paid_elsewhere, reason_of
from claim.page.wording import SHOWN, cost_text, percent, ratio_text, time_text
from claim.result import ClaimResult, figures_in, runtimes_of

_SIGN = {"held": "held", "lost": "**lost**", "undecided": "undecided"}
NONE = "–"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A Markdown table, the first `left` columns to the left and the others to the right."""
    lines = [header, ["---"] * left + ["--:"] * (len(header) - left), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def goals(result: ClaimResult, reading: Reading) -> str:
    """What is asked, and what was found."""

    def row(goal: Goal) -> tuple[str, str, str]:
        return goal.text, goal.found, "yes" if goal.is_met else "**no**"

    return table(("goal", "found", "met"), map(row, goals_of(result, reading)), left=2)


_COUNTED = ("held", "lost", "undecided", f"worse by more than {percent(LARGE_LOSS)}")


def _counted(count: Count) -> tuple[str, ...]:
    large = f"{count.large} ({count.shown_large})"
    return (str(count.held), str(count.lost), str(count.undecided), large)


def readings(result: ClaimResult) -> str:
    """Cells held, lost and undecided, whatever "the best fixed strategy" is."""
    rows = [
        (text, *_counted(count_cells(result.cells, result.judged.verdicts[reading])))
        for reading, text in READINGS.items()
    ]
    return table(("beside", *_COUNTED), rows)


def figure_counts(result: ClaimResult, reading: Reading) -> str:
    """Figure by figure, and what other rules would say (held / lost / undecided)."""
    rows = []
    for name, verdicts in _by_figure(result, reading):
        narrow = Counter(verdict.narrow for verdict in verdicts)
        gross = Counter(verdict.gross for verdict in verdicts)
        rows.append(
            (
                name,
                *_counted(count_figures(verdicts)),
                *(
                    f"{each['held']} / {each['lost']} / {each['undecided']}"
                    for each in (narrow, gross)
                ),
            )
        )
    others = (f"margin {percent(SMALLEST_MARGIN)} everywhere", "pacer's lateness left in")
    return table(("figure", *_COUNTED, *others), rows)


def doubts(result: ClaimResult, reading: Reading) -> str:
    """Why figures have no verdict whatever their intervals say: `p99: overloaded 3, …`."""
    found: dict[str, Counter[str]] = {}
    for verdict in result.judged.verdicts[reading]:
        if verdict.doubt is not None:
            found.setdefault(SHOWN[verdict.figure], Counter())[verdict.doubt] += 1
    return "; ".join(
        f"{figure}: " + ", ".join(f"{doubt} {count}" for doubt, count in counts.items())
        for figure, counts in found.items()
    )


def calibration(result: ClaimResult) -> str:
    """What the same rules say of each fixed strategy."""
    by_name: dict[str, dict[str, Count]] = {}
    for each in result.judged.calibrations:
        by_name.setdefault(each.strategy, {})[each.reading] = each.count
    rows = [
        (
            f"**{name}**" if name == OURS else name,
            *(" / ".join(_counted(counts[reading])) for reading in (DECIDING, BESIDE)),
        )
        for name, counts in by_name.items()
    ]
    return table(("strategy", READINGS[DECIDING], READINGS[BESIDE]), rows)


def weights(result: ClaimResult) -> str:
    """Delay + weight × CPU of ours ÷ that of the best fixed strategy."""
    rows = []
    for weight in WEIGHTS:
        found = [each for each in result.judged.weighed if each.weight == weight]
        if not found:
            continue
        ratios = [each.ratio.median for each in found]
        outcomes = Counter(outcome_of(each.ratio, SMALLEST_MARGIN) for each in found)
        worst = max(found, key=lambda each: each.ratio.median)
        large = sum(each.ratio.low > 1 + LARGE_LOSS for each in found)
        rows.append(
            (
                weight,
                f"{median(ratios):.2f}",
                ratio_text(worst.ratio),
                f"{result.cells[worst.cell].name}, {worst.best}",
                *(str(outcomes[name]) for name in ("held", "lost", "undecided")),
                str(large),
            )
        )
    header = ("CPU's weight", "middle cell", "worst cell", "which, and beside what")
    counted = ("held", "lost", "undecided", f"shown above {percent(LARGE_LOSS)}")
    return table((*header, *counted), rows)


def worst(result: ClaimResult) -> str:
    """The worst regret of each strategy, by figure; in brackets with what cannot keep up."""
    columns: list[FigureName] = ["sum", *figures_in(result)]
    found = {(each.strategy, each.figure, each.runtime): each for each in result.judged.worst}

    def cell(strategy: str, figure: FigureName) -> str:
        each = found.get((strategy, figure, None))
        if each is None:
            return NONE
        own = NONE if each.regret is None else percent(each.regret)
        return f"{own} ({percent(each.with_overloaded)})"

    header = ("strategy", *(SHOWN[figure] for figure in columns))
    return table(header, _each_strategy(result, lambda name: [cell(name, f) for f in columns]))


def worst_by_runtime(result: ClaimResult) -> str:
    """The worst regret of delay + CPU of each strategy on each runtime."""
    runtimes = runtimes_of(result)
    found = {
        (each.strategy, each.runtime): each for each in result.judged.worst if each.figure == "sum"
    }

    def cells(strategy: str) -> list[str]:
        regrets = [found.get((strategy, runtime)) for runtime in runtimes]
        return [
            NONE if each is None or each.regret is None else percent(each.regret)
            for each in regrets
        ]

    return table(("strategy", *runtimes), _each_strategy(result, cells))


def worst_places(result: ClaimResult) -> str:
    """Where the worst regrets of ours are."""
    rows = [
        (
            SHOWN[each.figure],
            percent(each.regret),
            percent(max(0.0, each.shown or 0.0)),
            result.cells[each.cell].name,
        )
        for each in result.judged.worst
        if each.strategy == OURS and each.runtime is None
        if each.regret is not None and each.cell is not None
    ]
    return table(("figure", "worst regret of adaptive", "shown", "cell"), rows)


def lost(result: ClaimResult, reading: Reading) -> str:
    """Every lost comparison, and why."""
    samples = Samples.of(result.runs)
    rows = []
    for verdict in lost_first(result.judged.verdicts[reading]):
        ours = Profile.of(samples, verdict.cell, OURS)
        theirs = Profile.of(samples, verdict.cell, verdict.rival)
        paid = [
            f"{SHOWN[figure]} × {ratio.median:.2f}"
            for figure, ratio in paid_elsewhere(result, samples, verdict)
        ]
        rows.append(
            (
                result.cells[verdict.cell].name,
                SHOWN[verdict.figure],
                ratio_text(verdict.ratio),
                verdict.rival,
                reason_of(verdict, ours, theirs),
                facts_of(ours, theirs),
                ", ".join(paid) or "nothing shown",
            )
        )
    header = ("cell", "figure", "adaptive ÷ winner", "winner", "reason", "measured", "winner pays")
    return table(header, rows, left=7)


def cells_of(result: ClaimResult, runtime: str) -> str:
    """Every cell of a runtime: the two outcomes, and each figure beside its own best strategy."""
    found: dict[tuple[int, Reading], list[Verdict]] = {}
    for reading in (DECIDING, BESIDE):
        for verdict in result.judged.verdicts[reading]:
            found.setdefault((verdict.cell, reading), []).append(verdict)
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
            cell = result.cells[number]
            one, each = (found.get((number, reading), []) for reading in (DECIDING, BESIDE))
            rivals = ", ".join(one[0].rivals) if one else NONE
            row = [
                f"{cell.load}, {cell.message_bytes} B",
                f"{_SIGN[cell_outcome(cell, one)]} beside {rivals}",
                _SIGN[cell_outcome(cell, each)],
            ]
            by_figure = {verdict.figure: verdict for verdict in each}
            row += [
                _compared(by_figure.get(figure), costs.get((number, figure))) for figure in figures
            ]
            rows.append([*row, _tails(result, number)] if paced else row)
        header = ["load", READINGS[DECIDING], READINGS[BESIDE], *(SHOWN[name] for name in figures)]
        if paced:
            header.append("pooled p99, longest: adaptive, p99's best")
        parts.append(table(header, rows))
    return "\n".join(parts)


def _compared(verdict: Verdict | None, cost_ns: float | None) -> str:
    if verdict is None or cost_ns is None:
        return "not measured"
    text = f"{cost_text(verdict.figure, cost_ns)}; {ratio_text(verdict.ratio)} {verdict.rival}: "
    text += _SIGN[verdict.outcome]
    if verdict.doubt is not None:
        text += f" ({verdict.doubt})"
    if verdict.above_floor is not None:
        text += f"; above the floor {verdict.above_floor.median:.2f}"
    return text


def _tails(result: ClaimResult, number: int) -> str:
    found = [tail for tail in result.judged.tails if tail.cell == number]
    return "; ".join(f"{time_text(t.p99_ns)}, {time_text(t.max_ns)}" for t in found) or NONE


def floors(result: ClaimResult) -> str:
    """The noise floors, and what the rule says of a strategy against itself."""
    rows = []
    for each in result.judged.floors:
        outcomes = " / ".join(str(each.outcomes[name]) for name in ("held", "lost", "undecided"))
        row = (SHOWN[each.figure], each.runtime, str(each.count), percent(each.floor))
        rows.append((*row, percent(each.largest), percent(each.margin), outcomes))
    header = (
        "figure",
        "runtime",
        "comparisons",
        f"{percent(FLOOR_QUANTILE)} within",
        "largest",
        "margin",
    )
    return table((*header, "held / lost / undecided"), rows, left=2)


def warmth(result: ClaimResult) -> str:
    """adaptive ÷ nodelay by warm processes and by cold ones."""
    rows = [
        (
            result.cells[each.cell].name,
            SHOWN[each.figure],
            ratio_text(each.warm),
            ratio_text(each.cold),
        )
        for each in result.judged.warmth
    ]
    return table(("cell", "figure", "warm", "cold"), rows, left=2)


def yardstick(result: ClaimResult) -> str:
    """How many times the offline optimum each strategy costs: over the cells, and the worst."""
    every = result.judged.yardsticks
    rates = sorted({cell.rate_per_s for cell in result.cells if cell.rate_per_s is not None})
    columns: dict[str, dict[str, float]] = {}
    for rate in rates:
        chosen = [each.held for each in every if result.cells[each.cell].rate_per_s == rate]
        columns[f"{rate / 1_000:g}k/s"] = middle_of(chosen)
    columns["all"] = middle_of([each.held for each in every])
    columns["worst cell"] = _largest([each.held for each in every])
    columns["received, all"] = middle_of([each.received for each in every])

    def cells(strategy: str) -> list[str]:
        values = [column.get(strategy) for column in columns.values()]
        return [NONE if value is None else f"{value:,.1f}" for value in values]

    return table(("strategy", *columns), _each_strategy(result, cells))


def _largest(times: Sequence[dict[str, float]]) -> dict[str, float]:
    largest: dict[str, float] = {}
    for of_cell in times:
        for strategy, value in of_cell.items():
            name = name_on_all_runtimes(strategy)
            largest[name] = max(largest.get(name, 0.0), value)
    return largest


def _each_strategy(result: ClaimResult, cells: Callable[[str], Sequence[str]]) -> list[list[str]]:
    """A row for each strategy, ours last and bold."""
    names = {name_on_all_runtimes(name): None for cell in result.cells for name in cell.strategies}
    return [
        [f"**{name}**" if name == OURS else name, *cells(name)]
        for name in sorted(names, key=lambda name: name == OURS)
    ]


def _by_figure(result: ClaimResult, reading: Reading) -> list[tuple[str, list[Verdict]]]:
    verdicts = list(result.judged.verdicts[reading])
    parts = [
        (SHOWN[figure], [verdict for verdict in verdicts if verdict.figure == figure])
        for figure in figures_in(result)
    ]
    return [*parts, ("**all**", verdicts)]
