"""A kernel that takes a part, or nothing, of a write: at every point of what is sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.library.preloads import compiled, run_with
from tests.library.setups import NAMES, Setup


@pytest.fixture(scope="module")
def cut_writes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that, preloaded, cuts writes."""
    return compiled("cut_writes", tmp_path_factory.mktemp("preloaded"))


@pytest.mark.parametrize("name", ["batch", *NAMES])
def test_each_byte_arrives_once_wherever_a_write_is_cut(name: str, cut_writes: Path) -> None:
    """cpython #103463: after a partial write bytes were repeated; sends of one byte, and EAGAIN."""
    if name != "batch":
        Setup(name)  # Skips where uvloop is absent.
    run_with(cut_writes, "cut_writes.py", name)
