"""What the tests of `sizes` share; `tests.…` is importable however pytest is started."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.stream.command import Command


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    """`tinygram sizes` in an empty folder; whatever it started must be gone afterwards."""
    command = Command(tmp_path, "sizes")
    yield command
    command.end()
