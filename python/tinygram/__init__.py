"""Send many small messages over TCP in as few writes as it takes, none later than it must be.

The library half of tinygram; the bench half is `tinygram_bench`, run as the command `tinygram`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tinygram import strategies
from tinygram._native import Histogram, __version__
from tinygram.errors import ConnectionFailedError, DeliveryTimeoutError
from tinygram.plain import Batch, batch
from tinygram.stats import Stats
from tinygram.strategies import *  # noqa: F403 - what is in its `__all__`, and in ours below
from tinygram.threads import CoalescingSocket

if TYPE_CHECKING:
    from tinygram.aio.loop import new_event_loop
    from tinygram.aio.streams import (
        StreamWriter,
        create_connection,
        create_server,
        create_unix_connection,
        create_unix_server,
        open_connection,
        open_unix_connection,
        start_server,
        start_unix_server,
    )
    from tinygram.aio.transport import Transport

__all__ = [
    "Batch",
    "CoalescingSocket",
    "ConnectionFailedError",
    "DeliveryTimeoutError",
    "Histogram",
    "Stats",
    "StreamWriter",
    "Transport",
    "__version__",
    "batch",
    "create_connection",
    "create_server",
    "create_unix_connection",
    "create_unix_server",
    "new_event_loop",
    "open_connection",
    "open_unix_connection",
    "start_server",
    "start_unix_server",
]
__all__ += strategies.__all__

_OF_LOOPS = {"Transport": "transport", "new_event_loop": "loop"}
"""Name → its module in `aio`; all other names that are imported when asked for are in `streams`."""


if not TYPE_CHECKING:  # Otherwise a type checker would accept any name.

    def __getattr__(name: str) -> Any:
        """Import what event loops need when asked for; without asyncio, programs start sooner."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"tinygram.aio.{_OF_LOOPS.get(name, 'streams')}")
        found = globals()[name] = getattr(module, name)
        return found


def __dir__() -> list[str]:
    """All names, including those for event loops, for completion in a shell."""
    return sorted({*globals(), *__all__})
