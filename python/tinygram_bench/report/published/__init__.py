"""Figures that others published, unchanged, with ours beside them: a file per workload.

They came from other machines, so that only shapes and ratios can be compared.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib import resources


def published_rows(table: str) -> Iterator[dict[str, str]]:
    text = (resources.files(__name__) / f"{table}.csv").read_text("utf-8")
    return csv.DictReader(text.splitlines())
