"""How often `tinygram compare` shows a change where there is none: results of the same code.

`python -m alike FOLDER [--results 101]` measures so many short results of each of two loads into
the folder, where they are not there yet, and compares each with the next one, and every two. Where
the host's cores could sleep in one and not in the other, `compare` refuses: --anyway takes such
pairs, too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable
from itertools import combinations, pairwise
from pathlib import Path

from tinygram_bench.model.result import Result
from tinygram_bench.model.store import load
from tinygram_bench.statistics.changes.change import Kind
from tinygram_bench.statistics.changes.comparison import compare_results

WAYS = ("loop/nodelay", "loop/tinygram/adaptive", "asyncio/tinygram/adaptive")
LOADS = {"flat": (), "paced": ("--rate", "5000")}
SHAPE = ("--duration", "100ms", "--rounds", "8", "--quiet")
ASKED_SHARE = 0.05
KINDS: tuple[Kind, ...] = ("times", "counts")


def main() -> None:
    parser = argparse.ArgumentParser(prog="alike", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=int, default=101)
    parser.add_argument("--anyway", action="store_true")
    asked = parser.parse_args()
    asked.folder.mkdir(exist_ok=True)
    for number in range(asked.results):
        for name, options in LOADS.items():
            path = asked.folder / f"{name}-{number:03}.json"
            if not path.exists():
                measure(path, options)
    for name in LOADS:
        results = [load(path) for path in sorted(asked.folder.glob(f"{name}-*.json"))]
        print(f"{name}: {len(results)} results")
        print("  each and the next:", told(pairwise(results), asked.anyway))
        print("  every two:", told(combinations(results, 2), asked.anyway))


def measure(path: Path, options: Iterable[str]) -> None:
    ways = [word for way in WAYS for word in ("--only", way)]
    words = ["stream", *ways, *options, *SHAPE, "--json", str(path)]
    subprocess.run([sys.executable, "-m", "tinygram_bench", *words], check=True)


def told(pairs: Iterable[tuple[Result, Result]], is_anyway: bool) -> str:
    """How many comparisons show something, and in how many a gate would have failed."""
    compared = refused = figures = barred = excluding = 0
    shown, failed = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    for before, after in pairs:
        comparison = compare_results(before, after)
        if comparison.hindrances and not is_anyway:
            refused += 1
            continue
        compared += 1
        figures += len(comparison.changes)
        barred += sum(each.reason is not None for each in comparison.changes)
        ratios = [each.ratio for each in comparison.changes if each.ratio is not None]
        excluding += sum(not each.low <= 1 <= each.high for each in ratios)
        for kind in KINDS:
            alike = [each for each in comparison.changes if each.kind == kind]
            shown[kind] += any(each.shown in ("worse", "better") for each in alike)
            failed[kind] += any(each.passed(ASKED_SHARE) == "fails" for each in alike)
    of_each = ", ".join(
        f"{kind}: a change in {shown[kind]}, a failed gate in {failed[kind]}" for kind in KINDS
    )
    return (
        f"{compared} comparisons of {figures} figures, {refused} refused; {barred} figures barred; "
        f"{excluding} intervals without 1, barred or not; {of_each}"
    )


if __name__ == "__main__":
    main()
