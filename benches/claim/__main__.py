"""`python -m claim`: measure the claim, or write its page again from a result that is there."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from published.pages import fill

from claim.asked import ONCE, cells_of, parser
from claim.code import code
from claim.grid import SETS
from claim.page import report
from claim.page.summary import PARTS, kind_of, parts
from claim.planned import all_runs
from claim.result import About, ClaimResult, claim_of, earlier_of
from claim.study import Grid, by_strategy
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.host.placement import default_placement
from tinygram_bench.links import DEFAULT_BACKEND, parse_links, prepare
from tinygram_bench.measurement.measure import Study, measure
from tinygram_bench.model import store
from tinygram_bench.model.errors import OutputError, UsageError
from tinygram_bench.model.result import Plan, Result
from tinygram_bench.model.store import Destination
from tinygram_bench.processes.interrupts import INTERRUPTS
from tinygram_bench.runs.bench import running
from tinygram_bench.workloads.stream.run import Stream

_MINUTES = {"full": 44.0, "quick": 6.7, "links": 25.0}
_RESULTS = Path("results")


def main() -> int:
    """Exit status 0 when the claim holds, over the whole grid; else 1, and 130 after Ctrl-C."""
    options = parser(__doc__)
    asked = options.parse_args()
    if asked.into and not asked.report:
        options.error("--into needs --report FILE: what was measured is looked at first")
    try:
        return _report(asked) if asked.report else _measure(asked)
    except (UsageError, OutputError) as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        return _nothing_measured()


def _report(asked: argparse.Namespace) -> int:
    claim = claim_of(store.load(asked.report))
    _tell(claim, asked.page)
    if asked.into:
        filled = tuple(parts(claim))
        if not filled:
            raise UsageError(
                f"{asked.into} has no part for {kind_of(claim)}: it has those for "
                f"{', and for '.join(map(str, PARTS))}"
            )
        for part, text in filled:
            fill(asked.into, part, text)
    return 0 if report.holds(claim) else 1


def _tell(claim: ClaimResult, page: Path | None) -> None:
    print(report.opening(claim))
    if page:
        picture = page.with_suffix(".svg")
        page.write_text(report.page(claim, _why(page), picture.name))
        picture.write_text(report.heat_map(claim))
        print(f"Written: {page} and {picture}")


def _measure(asked: argparse.Namespace) -> int:
    give_up_s = time.monotonic() + 60 * (asked.minutes or _MINUTES[asked.grid])
    sizes = SETS[asked.set]
    cells = cells_of(asked)
    path = asked.out or _default_path(asked)
    earlier = _earlier(asked, path.parent)
    about: dict[str, Any] = msgspec.to_builtins(
        About("claim", asked.grid, sizes, code(), earlier, slice_ms=asked.slice_ms)
    )
    prepare(parse_links([cell.link for cell in cells]), DEFAULT_BACKEND)
    with ExitStack() as stack:
        stack.enter_context(INTERRUPTS.handled())
        stack.enter_context(cores_awake())
        bench = stack.enter_context(running(Stream(sizes.seed), by_strategy))
        placement = default_placement()
        plan = Plan(
            cases=tuple(run.case(cells, placement, asked.slice_ms) for run in all_runs(cells)),
            rounds=asked.rounds,
            seed=sizes.seed,
        )
        grid = Grid(cells, plan, bench, give_up_s, about)
        measurement = measure(
            plan,
            grid.run_cases,
            Destination(path),
            is_quiet=False,
            is_awake=False,
            waits=False,
            command=("tinygram", *sys.argv[1:]),
            study=Study(about, grid.order, give_up_s, _with_answer),
        )
    if measurement.result is None:
        return _nothing_measured()
    if measurement.output_error is not None:
        raise measurement.output_error
    print(f"Saved: {path}")
    claim = claim_of(measurement.result)
    _tell(claim, asked.page)
    if measurement.is_interrupted:
        return 130
    return 0 if report.holds(claim) else 1


def _with_answer(result: Result) -> Result:
    return msgspec.structs.replace(result, answer=report.sentences(claim_of(result)))


def _nothing_measured() -> int:
    print("interrupted before a run was finished; no result is written", file=sys.stderr)
    return 130


def _earlier(asked: argparse.Namespace, folder: Path) -> tuple[str, ...]:
    """The results of a set that counts once. Raises UsageError unless --again was given."""
    if asked.set not in ONCE:
        return ()
    earlier = earlier_of(SETS[asked.set], asked.grid, asked.slice_ms, folder)
    if earlier and not asked.again:
        raise UsageError(
            f"set {asked.set!r} was measured before, and counts once ({'; '.join(earlier)}): "
            "--again measures it again, and the page tells of both"
        )
    return earlier


def _default_path(asked: argparse.Namespace) -> Path:
    return _RESULTS / f"{datetime.now(UTC):%Y%m%d%H%M%S}-claim-{asked.grid}-{asked.set}.json"


def _why(page: Path) -> str:
    """What was written by hand about the lost cells, beside the page: `claim-confirm-why.md`."""
    by_hand = page.with_name(f"{page.stem}-why.md")
    return by_hand.read_text() if by_hand.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
