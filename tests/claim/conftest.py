"""Makes `claim.…`, which is no installed package, importable; and results that tests share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))

from claim.result import ClaimResult
from tests.claim.worlds import CELLS, COSTS, each_best_once, result_of, runs_of


@pytest.fixture(scope="package")
def held() -> ClaimResult:
    """`adaptive` is held in all cells."""
    return result_of(each_best_once(100_000.0))


@pytest.fixture(scope="package")
def lost() -> ClaimResult:
    """All cells are lost to `nagle`."""
    return result_of(runs_of(CELLS, {**COSTS, "nagle": 40_000.0}))
