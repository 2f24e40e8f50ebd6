"""`python -m claim`: measure the claim, or write its page again from a result that is there."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from claim import report
from claim.code import code
from claim.compare import LOOKS
from claim.grid import GRIDS, RUNTIMES, SETS
from claim.measure import Measuring
from claim.progress import Progress
from claim.result import SCHEMA_VERSION, ClaimResult, earlier_of, judge, load, save
from tinygram_bench.host.awake import cores_awake
from tinygram_bench.host.network import private_network
from tinygram_bench.host.placement import default_placement
from tinygram_bench.host.probes.environment import environment
from tinygram_bench.links import DEFAULT_BACKEND, parse_links, prepare
from tinygram_bench.model.errors import UsageError
from tinygram_bench.processes.interrupts import INTERRUPTS
from tinygram_bench.run.bench import running
from tinygram_bench.workloads.stream.run import Stream, by_runtime_and_link

_MINUTES = {"full": 44.0, "quick": 4.7, "links": 25.0}
_RESULTS = Path("results")
_ONCE = "confirm"
"""The set that is not looked at before the code is as it will be."""


def main() -> int:
    """Exit status 0 when the claim holds, over the whole grid; else 1, and 130 after Ctrl-C."""
    asked = _parser().parse_args()
    if asked.report:
        result = load(asked.report)
        if asked.judge_again:
            judged = judge(result.cells, result.runs, result.set.seed)
            result = msgspec.structs.replace(result, judged=judged)
    else:
        with INTERRUPTS.handled():
            result = _measured(asked)
            with INTERRUPTS.held():
                path = asked.out or _default_path(result)
                save(result, path)
        print(f"Saved: {path}")
    print(report.opening(result))
    if asked.page:
        picture = asked.page.with_suffix(".svg")
        asked.page.write_text(report.page(result, _why(asked.page), picture.name))
        picture.write_text(report.heat_map(result))
        print(f"Written: {asked.page} and {picture}")
    if result.ending == "interrupted":
        return 130
    return 0 if report.holds(result) else 1


def _measured(asked: argparse.Namespace) -> ClaimResult:
    sizes = SETS[asked.set]
    runtimes = asked.runtime or RUNTIMES
    cells = [cell for cell in GRIDS[asked.grid](sizes) if cell.runtime in runtimes]
    cells = [cell for cell in cells if asked.only in cell.name]
    if not cells:
        raise SystemExit(f"no cell has {asked.only!r} in its name")
    folder = asked.out.parent if asked.out else _RESULTS
    earlier = earlier_of(sizes, folder) if sizes.name == _ONCE else ()
    if earlier and not asked.again:
        raise SystemExit(
            f"set {_ONCE!r} was measured before, and counts once ({'; '.join(earlier)}): --again "
            "measures it again, and the page tells of both"
        )
    try:
        prepare(parse_links([cell.link for cell in cells]), DEFAULT_BACKEND)
    except UsageError as error:
        raise SystemExit(str(error)) from error
    begun_s = time.monotonic()
    started = datetime.now(UTC)
    give_up_s = begun_s + 60 * (asked.minutes or _MINUTES[asked.grid])
    progress = Progress(give_up_s)
    with ExitStack() as stack:
        found_code = code()
        stack.enter_context(cores_awake())
        with private_network() as network, network.entered():
            found = environment("cubic")
        warm = stack.enter_context(running(Stream(sizes.seed), by_runtime_and_link))
        cold = stack.enter_context(running(Stream(sizes.seed))) if asked.grid == "full" else None
        measuring = Measuring(
            cells, default_placement(), sizes.seed, warm, cold, give_up_s, progress, asked.rounds
        )
        ending = measuring.measure()
        progress.end()
        if environment("cubic")["cpu_latency_limit_us"] != found["cpu_latency_limit_us"]:
            found["cpu_latency_limit_us"] = None
    runs = tuple(measuring.runs)
    return ClaimResult(
        schema_version=SCHEMA_VERSION,
        grid=asked.grid,
        set=sizes,
        cells=tuple(cells),
        code=found_code,
        environment=found,
        command=(shlex.join(sys.argv[1:]),),
        started_utc=f"{started:%Y-%m-%d %H:%M:%S}",
        seconds=round(time.monotonic() - begun_s, 1),
        ending=ending,
        earlier=earlier,
        judged=judge(cells, runs, sizes.seed),
        runs=runs,
    )


def _default_path(result: ClaimResult) -> Path:
    stamp = result.started_utc.translate(str.maketrans("", "", "-: "))
    return _RESULTS / f"{stamp}-claim-{result.grid}-{result.set.name}.json"


def _why(page: Path) -> str:
    """What was written by hand about the lost cells, beside the page: `claim-why.md`."""
    by_hand = page.with_name(f"{page.stem}-why.md")
    return by_hand.read_text() if by_hand.exists() else ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m claim", description=__doc__)
    parser.add_argument("--set", choices=SETS, default="tuning", help="seeds and sizes")
    parser.add_argument("--grid", choices=GRIDS, default="full", help="which cells")
    parser.add_argument("--minutes", type=float, help="it ends then at the latest")
    parser.add_argument("--rounds", type=int, default=LOOKS[-1], help="of a cell at most")
    parser.add_argument("--runtime", action="append", choices=RUNTIMES, help="only these")
    parser.add_argument("--only", default="", help="cells that have this text in their name")
    parser.add_argument("--again", action="store_true", help=f"measure {_ONCE!r} once more")
    parser.add_argument("--out", type=Path, help="the result file")
    parser.add_argument("--page", type=Path, help="write this page, and its picture beside it")
    parser.add_argument("--report", type=Path, help="measure nothing: read this result file")
    parser.add_argument("--judge-again", action="store_true", help="judge its runs anew")
    return parser


if __name__ == "__main__":
    sys.exit(main())
