"""Processes import what they use: the bench starts many, and most use no event loop and no TLS."""

from __future__ import annotations

import subprocess
import sys

import pytest

STREAM = "tinygram_bench.workloads.stream"
WITHOUT = {
    "tinygram": ("asyncio", "ssl"),
    f"{STREAM}.sender": ("asyncio", "ssl"),
    f"{STREAM}.receiver": ("asyncio", "ssl"),
    "tinygram_bench.ways.by_hand.threads": ("asyncio", "ssl"),
    "tinygram_bench.ways.library.threads": ("asyncio", "ssl"),
    "tinygram_bench.ways.native": ("asyncio", "ssl"),
    "tinygram_bench.workloads.fanout.publisher": ("asyncio", "ssl"),
    "tinygram_bench.workloads.echo.client": ("asyncio", "ssl"),
    "tinygram_bench.workloads.rr.callers": ("asyncio",),
}


@pytest.mark.parametrize("module", WITHOUT)
def test_it_starts_without_what_it_may_never_use(module: str) -> None:
    program = f"import sys, {module}; print(*sorted({{*sys.modules}} & {{*{WITHOUT[module]!r}}}))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []
