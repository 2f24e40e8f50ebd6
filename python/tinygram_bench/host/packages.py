"""Packages that only some ways, or reports, need; each belongs to an extra."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from tinygram_bench.model.errors import UsageError

_OF_TLS = "cryptography"
_EXTRAS = {_OF_TLS: "tls"}
"""Package → its extra, where that has another name."""
_OF_CHARTS = ("altair", "jinja2", "vl_convert")


def missing(packages: Iterable[str]) -> str | None:
    """Why something that needs these packages cannot run here; None when it can."""
    for package in packages:
        if not importlib.util.find_spec(package):
            extra = _EXTRAS.get(package, package)
            return f"{package} is not installed: pip install 'tinygram[{extra}]'"
    return None


def missing_for_tls() -> str | None:
    """Why no certificate can be made here; None when one can."""
    return missing([_OF_TLS])


def check_charts() -> None:
    """Raise UsageError where a package for charts and their page is not installed."""
    if not all(map(importlib.util.find_spec, _OF_CHARTS)):
        raise UsageError("charts need the extra `report`: pip install 'tinygram[report]'")
