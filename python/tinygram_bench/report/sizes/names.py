"""What cells, sizes and ways of `sizes` are called."""

from __future__ import annotations

from collections.abc import Sequence

from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case
from tinygram_bench.report.formats import number


def size(size_bytes: float) -> str:
    """`1 B`, `100 kB`, `1 MB`, `86.1 kB`."""
    for scale, unit in ((1e6, "MB"), (1e3, "kB")):
        if size_bytes >= scale:
            scaled = size_bytes / scale
            return f"{int(scaled) if scaled == int(scaled) else number(scaled)} {unit}"
    return f"{int(size_bytes) if size_bytes == int(size_bytes) else number(size_bytes)} B"


def cell(case: Case) -> str:
    """`100 kB × 2`: the size and the round trips; of a local part its name."""
    part = SizesParameters.of(case).part
    if part is not None:
        return f"local {part.replace('-', ' ')}"
    return f"{size(case.message_bytes.max)} × {SizesParameters.of(case).round_trips}"


def way(case: Case) -> str:
    """`nodelay, setup and first data in 2 writes, over loopback`."""
    server = SizesParameters.of(case).server_address
    to = "" if server is None else f", server {server}"
    return f"{case.strategy}, setup and first data in {_writes(case)}{to}, over {case.link}"


def brief_ways(cases: Sequence[Case]) -> list[str]:
    """The ways of cases by strategy, and what else tells them apart: `nagle, 2 writes`."""
    others = [(_writes(case), f"over {case.link}") for case in cases]
    distinct = [at for at in range(2) if len({words[at] for words in others}) > 1]
    return [
        ", ".join((case.strategy, *(words[at] for at in distinct)))
        for case, words in zip(cases, others, strict=True)
    ]


def _writes(case: Case) -> str:
    writes = SizesParameters.of(case).setup_writes
    return "one write" if writes == 1 else f"{writes} writes"
