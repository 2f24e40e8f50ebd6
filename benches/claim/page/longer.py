"""The cells that the claim lost, measured again: for docs/claim.md.

In longer slices than those it is judged by, and as the control in the claim's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from published.claim import Lost

from claim.grid import OURS
from claim.judging.compare import MARGIN, of_all
from claim.judging.counts import KERNEL_HOLDS
from claim.judging.judge import Verdict, count_figures
from claim.judging.samples import Samples
from claim.page.tables import NONE, SIGN, decided_by, table
from claim.page.wording import percent, ratio_text, told_earlier
from claim.result import ClaimResult, runtimes_of


def measured_again(result: ClaimResult, lost: Sequence[Lost]) -> str:
    """Which of the `lost` cells are lost here, too, of the runtimes that were measured.

    Each of these cells has a row, whether it has a verdict or not.
    """
    runtimes = runtimes_of(result)
    lost = [each for each in lost if each.cell.partition(", ")[0] in runtimes]
    samples = Samples.of(result.runs)
    names = {each.cell for each in lost}
    deciding = {
        result.cells[each.cell].name: each
        for each in result.judged.verdicts
        if each.is_deciding and result.cells[each.cell].name in names
    }
    where = "again" if result.slice_ms is None else f"in {result.slice_ms} ms"
    header = (
        "cell",
        "best fixed strategy in the claim",
        f"`{OURS}` ÷ it",
        f"best fixed strategy {where}",
        f"`{OURS}` ÷ it",
        "outcome",
        f"`{OURS}` ÷ `{KERNEL_HOLDS}`",
        "rounds",
    )
    rows = [_row(each, deciding.get(each.cell), samples) for each in lost]
    return f"{_counted(result, lost, list(deciding.values()))}\n\n{table(header, rows)}".rstrip()


def _counted(result: ClaimResult, lost: Sequence[Lost], measured: Sequence[Verdict]) -> str:
    count = count_figures(measured)
    before = sum(each.winner == KERNEL_HOLDS for each in lost)
    now = sum(each.rival == KERNEL_HOLDS for each in measured)
    is_control = result.slice_ms is None
    slices = "the claim's own slices" if is_control else f"slices of {result.slice_ms} ms"
    others, runtimes = result.others, " and ".join(runtimes_of(result))
    text = (
        f"Of the {len(lost)} cells of {runtimes} that are lost in the claim, {before} of them to "
        f"`{KERNEL_HOLDS}`, {len(measured)} were measured again in {slices} "
        f"({_whence(result)}): `{OURS}` held {count.held}, lost {count.lost}, and "
        f"{count.undecided} are undecided, with a margin of {percent(MARGIN)}; `{KERNEL_HOLDS}` is "
        f"the best fixed strategy in {now}."
    )
    if others is not None:
        text += f" Other programs had {percent(others.programs)} of the cores' time, and other "
        text += f"machines of the host took {percent(others.machines)}."
    if result.earlier:
        text += f" {told_earlier(result.set.name, result.earlier)}"
    return text


def _whence(result: ClaimResult) -> str:
    """The seeds, the day, the code and the host: all that may differ from the claim's."""
    code, facts = result.code, result.environment
    told = [f"set *{result.set.name}*", result.started_at.partition("T")[0]]
    if code.commit is not None:
        told.append(f"commit {code.commit[:8]}{' with changes' if code.is_changed else ''}")
    for name, words in (("cpu_model", "{}"), ("cores", "{} cores"), ("kernel", "Linux {}")):
        if facts.get(name) is not None:
            told.append(words.format(facts[name]))
    if result.is_early:
        told.append("and the measurement ended early")
    return ", ".join(told)


def _row(lost: Lost, verdict: Verdict | None, samples: Samples) -> tuple[str, ...]:
    """`adaptive` ÷ `nagle` is of all rounds that have both.

    A strategy that is hopeless runs in the first round alone, so that the ratio may be of one
    round.
    """
    if verdict is None:
        return (lost.cell, lost.winner, lost.ratio, NONE, NONE, "not measured", NONE, NONE)
    beside = of_all(samples.ratios(verdict.cell, OURS, KERNEL_HOLDS, verdict.figure))
    outcome = SIGN[verdict.outcome] + (" by counts" if verdict.is_by_counts else "")
    return (
        lost.cell,
        lost.winner,
        lost.ratio,
        verdict.rival,
        decided_by(verdict),
        outcome if verdict.doubt is None else f"{outcome} ({verdict.doubt})",
        NONE if beside is None else ratio_text(beside),
        str(verdict.rounds),
    )
