"""The page's tables in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from claim.grid import OURS, Cell, name_on_all_runtimes
from claim.judging.chance import QUANTILE
from claim.judging.compare import LARGE_LOSS, MARGIN
from claim.judging.counts import is_bounded
from claim.judging.judge import Count, Verdict, count_cells, count_figures
from claim.judging.samples import Samples, figures_of
from claim.page.goals import Goal, goals_of, lost_first
from claim.page.reasons import Profile, facts_of, paid_elsewhere, reason_of
from claim.page.wording import SHOWN, cost_text, percent, ratio_text
from claim.result import ClaimResult, figures_in, runtimes_of

SIGN = {"held": "held", "lost": "**lost**", "undecided": "undecided"}
NONE = "–"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A Markdown table, the first `left` columns to the left and the others to the right."""
    lines = [header, ["---"] * left + ["--:"] * (len(header) - left), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def goals(result: ClaimResult) -> str:
    """What is asked, and what was found."""

    def row(goal: Goal) -> tuple[str, str, str]:
        return goal.text, goal.found, "yes" if goal.is_met else "**no**"

    return table(("goal", "found", "met"), map(row, goals_of(result)), left=2)


_COUNTED = (
    "held (by counts)",
    "lost (by counts)",
    "undecided",
    f"worse by more than {percent(LARGE_LOSS)}",
)


def _counted(count: Count) -> tuple[str, ...]:
    large = f"{count.large} ({count.shown_large})"
    held, lost = (
        f"{number} ({by_counts})" if by_counts else str(number)
        for number, by_counts in (
            (count.held, count.held_by_counts),
            (count.lost, count.lost_by_counts),
        )
    )
    return (held, lost, str(count.undecided), large)


def counts(result: ClaimResult) -> str:
    """Cells by runtime, and each figure by itself."""
    rows = []
    for runtime in runtimes_of(result):
        numbers = [at for at, cell in enumerate(result.cells) if cell.runtime == runtime]
        of_runtime = [each for each in result.judged.verdicts if each.cell in numbers]
        cells = [result.cells[at] for at in numbers]
        rows.append((f"cells, {runtime}", *_counted(count_cells(cells, of_runtime))))
    everything = count_cells(result.cells, result.judged.verdicts)
    rows.append(("**cells**", *_counted(everything)))
    for figure in figures_in(result):
        of_figure = [each for each in result.judged.verdicts if each.figure == figure]
        rows.append((SHOWN[figure], *_counted(count_figures(of_figure))))
    return table(("", *_COUNTED), rows)


def doubts(result: ClaimResult) -> str:
    """Why figures have no verdict whatever their intervals say: `p99: overloaded 3, …`."""
    found: dict[str, Counter[str]] = {}
    for verdict in result.judged.verdicts:
        if verdict.doubt is not None:
            found.setdefault(SHOWN[verdict.figure], Counter())[verdict.doubt] += 1
    return "; ".join(
        f"{figure}: " + ", ".join(f"{doubt} {count}" for doubt, count in counted.items())
        for figure, counted in found.items()
    )


def standings(result: ClaimResult) -> str:
    """In how many cells each strategy costs more than the best one, and its worst regret."""
    worst = {(each.strategy, each.runtime): each for each in result.judged.worst}
    standing = {each.strategy: each for each in result.judged.standings}
    runtimes = [None, *runtimes_of(result)]

    def cells(strategy: str) -> list[str]:
        found = standing.get(strategy)
        regrets = [worst.get((strategy, runtime)) for runtime in runtimes]
        if found is None:
            return [NONE] * (2 + len(runtimes))
        return [
            f"{found.over_margin} of {found.cells}",
            str(found.over_large),
            *(
                NONE if each is None or each.regret is None else percent(each.regret)
                for each in regrets
            ),
        ]

    header = (
        "strategy",
        f"over {percent(MARGIN)}",
        f"over {percent(LARGE_LOSS)}",
        "worst regret",
        *runtimes_of(result),
    )
    return table(header, _each_strategy(result, cells))


def lost(result: ClaimResult) -> str:
    """Every lost cell, and why."""
    samples = Samples.of(result.runs)
    rows = []
    for verdict in lost_first(result.judged.verdicts):
        ours = Profile.of(samples, verdict.cell, OURS)
        theirs = Profile.of(samples, verdict.cell, verdict.rival)
        paid = [
            f"{SHOWN[figure]} × {ratio.median:.2f}"
            for figure, ratio in paid_elsewhere(result, samples, verdict)
        ]
        rows.append(
            (
                result.cells[verdict.cell].name,
                decided_by(verdict),
                verdict.rival,
                reason_of(verdict, ours, theirs),
                facts_of(ours, theirs),
                ", ".join(paid) or "nothing shown",
            )
        )
    header = ("cell", "adaptive ÷ winner", "winner", "reason", "measured", "winner pays")
    return table(header, rows, left=6)


def decided_by(verdict: Verdict) -> str:
    """The ratio that decides: the clock's, or the one that counts predict."""
    if verdict.is_by_counts and verdict.counted is not None:
        return f"{ratio_text(verdict.counted)} by counts"
    return ratio_text(verdict.ratio)


def cells_of(result: ClaimResult, runtime: str) -> str:
    """Every cell of a runtime: its outcome, and each figure beside the best fixed strategy."""
    found = {(each.cell, each.figure): each for each in result.judged.verdicts}
    samples = Samples.of(result.runs)
    parts = []
    for is_paced in (True, False):
        numbers = [
            number
            for number, cell in enumerate(result.cells)
            if cell.runtime == runtime and (cell.rate_per_s is not None) == is_paced
        ]
        if not numbers:
            continue
        figures = figures_of(result.cells[numbers[0]])
        rows = []
        for number in numbers:
            verdicts = [found.get((number, figure)) for figure in figures]
            rows.append(
                [
                    f"{result.cells[number].load}, {result.cells[number].message_bytes} B",
                    _outcome(verdicts),
                    *(
                        NONE if each is None else _compared(each, _cost_ns(samples, each))
                        for each in verdicts
                    ),
                ]
            )
        parts.append(table(["load", "outcome", *(SHOWN[name] for name in figures)], rows))
    return "\n".join(parts)


def _outcome(verdicts: Sequence[Verdict | None]) -> str:
    deciding = [each for each in verdicts if each is not None and each.is_deciding]
    if not deciding:
        return "not measured"
    (verdict,) = deciding
    by = " by CPU time" if verdict.figure == "cpu" else ""
    if verdict.is_by_counts:
        by += " by counts"
    text = f"{SIGN[verdict.outcome]}{by} beside {', '.join(verdict.rivals)}"
    if verdict.counted is None or not is_bounded(verdict.counted):
        return text
    return f"{text}; counted {ratio_text(verdict.counted)}"


def _cost_ns(samples: Samples, verdict: Verdict) -> float | None:
    return samples.cost_ns(verdict.cell, OURS, verdict.figure)


def _compared(verdict: Verdict, cost_ns: float | None) -> str:
    text = NONE if cost_ns is None else cost_text(verdict.figure, cost_ns)
    text += f"; {ratio_text(verdict.ratio)}"
    return text if verdict.doubt is None else f"{text} ({verdict.doubt})"


def chances(result: ClaimResult) -> str:
    """Ours beside itself: how far apart, and what the rule says."""
    rows = []
    for each in result.judged.chances:
        outcomes = " / ".join(str(each.outcomes[name]) for name in ("held", "lost", "undecided"))
        row = (SHOWN[each.figure], each.runtime, str(each.count), percent(each.within))
        differing = f"{each.differing} of {each.count}"
        rows.append((*row, percent(each.largest), percent(each.half), differing, outcomes))
    header = ("figure", "runtime", "comparisons", f"{percent(QUANTILE)} within", "largest")
    others = ("half an interval's width", "interval excludes 1", "held / lost / undecided")
    return table((*header, *others), rows, left=2)


def _each_strategy(result: ClaimResult, cells: Callable[[str], Sequence[str]]) -> list[list[str]]:
    """A row for each strategy, ours last and bold."""
    names = dict.fromkeys(_names(result.cells))
    return [
        [f"**{name}**" if name == OURS else name, *cells(name)]
        for name in sorted(names, key=lambda name: name == OURS)
    ]


def _names(cells: Sequence[Cell]) -> Iterable[str]:
    return (name_on_all_runtimes(name) for cell in cells for name in cell.strategies)
