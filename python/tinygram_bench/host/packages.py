"""Packages that some ways need and that tinygram does without: each is an extra of its name."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable


def missing(packages: Iterable[str]) -> str | None:
    """Why what needs these cannot run here; None when it can."""
    for package in packages:
        if not importlib.util.find_spec(package):
            return f"{package} is not installed: pip install 'tinygram[{package}]'"
    return None
