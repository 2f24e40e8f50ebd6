"""A folder for what ordinary users write."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """One in which everybody may write, as pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="tinygram-users-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)
