"""Send many small messages over TCP, as few writes as it takes, and none later than it must be.

The library half of tinygram; the bench half is `tinygram_bench`, run as the command `tinygram`.
"""

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
from tinygram.strategies import Strategy, adaptive, coalesce, combine, nagle, nodelay, tick
from tinygram.threads import CoalescingSocket

__all__ = [
    "Batch",
    "CoalescingSocket",
    "ConnectionFailedError",
    "DeliveryTimeoutError",
    "Histogram",
    "Stats",
    "Strategy",
    "StreamWriter",
    "Transport",
    "__version__",
    "adaptive",
    "batch",
    "coalesce",
    "combine",
    "create_connection",
    "create_server",
    "create_unix_connection",
    "create_unix_server",
    "nagle",
    "new_event_loop",
    "nodelay",
    "open_connection",
    "open_unix_connection",
    "start_server",
    "start_unix_server",
    "tick",
]
