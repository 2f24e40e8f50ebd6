"""Send many small messages over TCP, as few writes as it takes, and none later than it must be.

The library half of tinygram; the bench half is `tinygram.bench`, run as the command `tinygram`.
"""

import os

from tinygram import _native
from tinygram._native import Histogram, __version__
from tinygram.aio.loop import new_event_loop
from tinygram.aio.streams import (
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
from tinygram.plain import Batch, batch
from tinygram.stats import Stats
from tinygram.strategies import Strategy, adaptive, coalesce, nagle, nodelay, tick

__all__ = [
    "Batch",
    "Histogram",
    "Stats",
    "Strategy",
    "Transport",
    "__version__",
    "adaptive",
    "batch",
    "coalesce",
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

os.register_at_fork(after_in_child=_native.forget_after_fork)
