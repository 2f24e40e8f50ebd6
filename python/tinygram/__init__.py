"""Send many small messages over TCP, as few writes as it takes, and none later than it must be.

The library half of tinygram; the bench half is `tinygram_bench`, run as the command `tinygram`.
"""

from tinygram import strategies
from tinygram._native import Histogram, __version__
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
from tinygram.errors import ConnectionFailedError, DeliveryTimeoutError
from tinygram.plain import Batch, batch
from tinygram.stats import Stats
from tinygram.strategies import *  # noqa: F403 - what is in its `__all__`, and in ours below
from tinygram.threads import CoalescingSocket

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
