"""Figures that others published, as they were published, and ours beside them: a file a workload.

They came from other machines, so that only shapes and ratios can be set side by side.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib import resources


def published_rows(table: str) -> Iterator[dict[str, str]]:
    text = (resources.files(__name__) / f"{table}.csv").read_text("utf-8")
    return csv.DictReader(text.splitlines())
