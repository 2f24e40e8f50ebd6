"""What sums up stored pages and results: of the claim, the simulation, programs, and a report.

Each stands between marks of its name on its page. The words around its figures are written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from math import ceil

from published import budget, simulation
from published.claim import LOOPS, links, loopback
from published.printing import printed
from published.stored import ROOT, ROWS, Figure, Row, read
from published.tables import number

_STALL = 100
"""Above it are rows whose base loop waits for delayed acknowledgements; README leaves them out."""


def _claim_of_readme() -> str:
    here = loopback()
    of_loops, of_threads = here.of(LOOPS), here.of(["threads"])
    to_nagle = here.lost_to("nagle", "threads")
    rows = [
        *_simulated(),
        f"| measured, event and plain loops ({of_loops.cells}) | {of_loops.words()} |",
        f"| threads ({of_threads.cells}) | {of_threads.held} held, {of_threads.lost} lost "
        f"({to_nagle} to Nagle's algorithm), {of_threads.undecided} undecided |",
        f"| all ({here.cells}) | {here.of(here.runtimes).words()}; largest regret {here.regret} %, "
        f"of the best single strategy {here.single_regret} % |",
    ]
    return "\n".join(
        [
            f"**In {of_loops.cells} loads on loops, measured over loopback on one host, it is at "
            f"most {ceil(of_loops.regret)} % worse than the best fixed strategy by the estimate,",
            f"in {of_threads.cells} with threads up to {ceil(of_threads.regret)} %** "
            f"([the claim](docs/claim.md), which {here.answer}):",
            "",
            "| loads | `adaptive` beside the best fixed strategy of each |",
            "|---|---|",
            *rows,
        ]
    )


def _simulated() -> list[str]:
    """What loops cost in virtual time, a row for each kind of cells."""
    found = simulation.found()
    paced, flat_out, computing = (
        found[name]
        for name in (
            (simulation.LOOPS, "Paced"),
            (simulation.LOOPS, "Flat out"),
            (simulation.COMPUTING, "Paced"),
        )
    )
    ours, tick = paced.costs["adaptive"], paced.costs["tick"]
    return [
        f"| [simulated](results/published/simulation.md) loops, {len(paced.hosts)} hosts, paced "
        f"({paced.number:,}) | costs {_percent(ours.mean)} % more on average, "
        f"{_percent(ours.worst)} % in the worst; `tick` {mean_and_worst(tick)} |",
        f"| the same flat out ({flat_out.number}) | {_beside_tick(flat_out)} |",
        f"| paced, computing before each message, {len(computing.hosts)} hosts "
        f"({computing.number:,}) | {_beside_tick(computing)} |",
    ]


def _beside_tick(cells: simulation.Cells) -> str:
    ours, tick = (mean_and_worst(cells.costs[name]) for name in ("adaptive", "tick"))
    return f"{ours}; `tick` {tick}"


def mean_and_worst(cost: simulation.Cost) -> str:
    """On average, and in the worst cell."""
    return f"{_percent(cost.mean)} and {_percent(cost.worst)} %"


def _programs_of_readme() -> str:
    tables = read(ROWS / "real-programs.json").tables
    plain = ratios(tables["servers"].rows, "uvicorn", "a plain response")
    chunks = ratios(tables["servers"].rows, "uvicorn", "a response in 20 chunks")
    feed = ratios(tables["programs"].rows, "aiohttp", "WebSocket")
    return (
        "An HTTP server that answers in pieces gains most: uvicorn makes "
        f"{span(plain)} times as many plain responses and {span(chunks)} times as many in 20 "
        "chunks,\n"
        "each in one write. A WebSocket feed on aiohttp makes "
        f"{span(feed)} times as many messages."
    )


def _claim_by_runtime() -> str:
    found = loopback()
    of_loops, of_threads = found.of(LOOPS), found.of(["threads"])
    to_nagle = found.lost_to("nagle", "threads")
    return (
        f"On event loops and a plain loop {of_loops.lost} of {of_loops.cells} cells are lost, and "
        f"none costs more than {of_loops.regret:g} % more by the estimate. With threads that share "
        "a\n"
        f"connection {of_threads.lost} of {of_threads.cells} are lost, {to_nagle} of them to "
        f"`nagle`, by up to {of_threads.regret:g} %."
    )


def _claim_for_who_chooses() -> str:
    found = loopback()
    of_loops, of_threads = found.of(LOOPS), found.of(["threads"])
    return (
        f"In the {of_loops.cells} loads of the claim on event loops and a plain loop, the default "
        f"costs at most {of_loops.regret:g} % more than the best fixed strategy, by the estimate.\n"
        f"With threads that share a connection it costs over 10 % more in {of_threads.worse} of "
        f"{of_threads.cells}, by up to {of_threads.regret:g} % ([the claim](../claim.md) says in "
        "which)."
    )


def _claim_over_links() -> str:
    found = links()
    return (
        f"Over {found.cells} loads on links `adaptive` was compared with the best fixed strategy "
        f"of each load, as the rules were on {_day(found.on)}:\n"
        f"{found.of(found.runtimes).words()} ([the claim](../claim.md))."
    )


def _report(name: str) -> str:
    """A stored result as `tinygram report` prints it."""
    return f"```\n{printed(ROOT / f'results/published/{name}.html')}\n```"


def ratios(rows: Sequence[Row], *words: str) -> list[float]:
    """The ratios of the rows that have these words, but for those of stalls."""
    ratios = [each.figures["ratio"] for each in rows if all(word in each.row for word in words)]
    medians = [each.median for each in ratios if isinstance(each, Figure)]
    return [median for median in medians if median < _STALL]


def span(values: Sequence[float]) -> str:
    """From the least to the greatest; one number where both round to the same."""
    least, most = f"{min(values):.1f}", f"{max(values):.1f}"
    return least if least == most else f"{least} to {most}"


def _percent(value: float) -> str:
    return number(value, 1 if value < 1 else 0)


def _day(on: date) -> str:
    return f"{on.day} {on:%B}"


SUMMARIES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "README.md": {"claim": _claim_of_readme, "programs": _programs_of_readme},
    "docs/claim.md": {"by-runtime": _claim_by_runtime, "virtual-time": simulation.table},
    "docs/speed.md": {"threads-budget": budget.table},
    "docs/how-to/choose-a-strategy.md": {"claim": _claim_for_who_chooses},
    "docs/how-to/measure-over-a-network.md": {"claim-links": _claim_over_links},
    "docs/how-to/read-a-report.md": {"report": partial(_report, "asyncio")},
    "docs/how-to/find-the-rate-you-can-sustain.md": {"report": partial(_report, "asyncio-rates")},
}
"""Page → what stands between its marks."""
