"""`python -m tinygram_bench.processes.start MODULE`: every process of ours that is told orders.

It imports the module, and runs its `main`.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import cast

_HIDDEN = "typing_extensions"


def main() -> int:
    """The status of the module's own `main`."""
    module = sys.argv.pop(1)
    _import_msgspec()
    return cast(int, import_module(module).main())


def _import_msgspec() -> None:
    """Import it without typing_extensions: msgspec tries it first, and falls back to typing.

    What it takes from there is in typing since Python 3.11; the import of typing_extensions, with
    that of inspect, is an eighth of a sender's start. A msgspec that cannot do without gets it.
    """
    if _HIDDEN in sys.modules:
        return  # Somebody has imported it, and would miss it.
    # With None in its place its import fails, as that of a package that is not installed.
    sys.modules[_HIDDEN] = None  # type: ignore[assignment]
    try:
        # Where this fails, the module imports it once more, with what it asks for.
        with suppress(ImportError):
            import msgspec  # noqa: F401 - for the module, which imports it after this
    finally:
        del sys.modules[_HIDDEN]


if __name__ == "__main__":
    sys.exit(main())
