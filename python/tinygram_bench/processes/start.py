"""`python -m tinygram_bench.processes.start MODULE`: starts a process of ours that is told orders.

It imports the module, and runs its `main`.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import cast

from tinygram_bench.processes.importing import importing

_HIDDEN = "typing_extensions"


def main() -> int:
    """Run the module's own `main`; return its status."""
    module = sys.argv.pop(1)
    with importing():
        _import_msgspec()
        main_of_module = import_module(module).main
    return cast(int, main_of_module())


def _import_msgspec() -> None:
    """Import it without typing_extensions: msgspec tries it first, and falls back to typing.

    What msgspec takes from it is in typing since Python 3.11; importing typing_extensions, with
    inspect, is an eighth of a sender's start. A msgspec that cannot do without it gets it.
    """
    if _HIDDEN in sys.modules:
        return  # It is imported already, and would be missed.
    # With None in its place, importing it fails, as if it were not installed.
    sys.modules[_HIDDEN] = None  # type: ignore[assignment]
    try:
        # If this fails, the module imports msgspec again, with what that asks for.
        with suppress(ImportError):
            import msgspec  # noqa: F401 - for the module, which imports it after this
    finally:
        del sys.modules[_HIDDEN]


if __name__ == "__main__":
    sys.exit(main())
