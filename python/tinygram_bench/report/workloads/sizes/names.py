"""The names of the cells of `sizes`, and of the ways that take samples of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, Result
from tinygram_bench.report.numbers import size
from tinygram_bench.statistics.workloads.sizes import is_exchange, writes_of_the_setup


def cell_name(case: Case) -> str:
    """`100 kB × 2`: the size and the round trips; for a local part its name."""
    part = SizesParameters.of(case).part
    if part is not None:
        return f"local {part.replace('-', ' ')}"
    return f"{size(case.message_bytes.max)} × {SizesParameters.of(case).round_trips}"


def cell_names(result: Result) -> Callable[[Case], str]:
    """Case → the name of its cell, with its link where the result has several."""
    has_many_links = len({each.link for each in result.plan.cases if is_exchange(each)}) > 1

    def named(case: Case) -> str:
        is_named = has_many_links and is_exchange(case)
        return f"{cell_name(case)} over {case.link}" if is_named else cell_name(case)

    return named


def way_name(case: Case) -> str:
    """`nodelay, setup and first data in 2 writes, over loopback`."""
    server = SizesParameters.of(case).server_address
    to = "" if server is None else f", server {server}"
    writes = writes_of_the_setup(case)
    return f"{case.strategy}, setup and first data in {writes}{to}, over {case.link}"


def brief_ways(cases: Sequence[Case]) -> list[str]:
    """Names of the cases' ways: the strategy, and what else tells them apart: `nagle, 2 writes`."""
    others = [(writes_of_the_setup(case), f"over {case.link}") for case in cases]
    distinct = [at for at in range(2) if len({words[at] for words in others}) > 1]
    return [
        ", ".join((case.strategy, *(words[at] for at in distinct)))
        for case, words in zip(cases, others, strict=True)
    ]
