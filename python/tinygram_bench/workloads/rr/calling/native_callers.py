"""Native callers: the limit of what this machine can do."""

from __future__ import annotations

from tinygram_bench._native import CallBook, CallContent, RrCallers
from tinygram_bench.model.strategies import IO_URING
from tinygram_bench.workloads.rr.calling import Tally
from tinygram_bench.workloads.rr.order import CallOrder, Start


class Callers:
    """A thread for each, or one for all that share a connection, or have many; without the GIL."""

    def __init__(self, order: CallOrder, content: CallContent) -> None:
        """Connect and warm up. Raises OSError."""
        self._callers = RrCallers(
            content,
            host=order.host,
            port=order.port,
            callers=order.callers,
            connections=order.connections,
            depth=order.depth,
            sends_per_request=order.sends_per_request,
            is_nodelay=order.is_nodelay,
            congestion_control=order.congestion_control,
            warm_up_calls=order.warm_up_calls,
            give_up_ns=order.give_up_ns,
            own=order.client.admission,
            is_ring=order.implementation == IO_URING,
        )

    @property
    def warm_up_call_ns(self) -> int:
        return self._callers.warm_up_call_ns

    def keep_to(self, book: CallBook) -> None:
        """From the start on, make calls when they are due."""
        self._callers.keep_to(book)

    def run(self, start: Start) -> Tally:
        """Let the callers call; return what they found. Raises OSError."""
        return Tally.of_native(*self._callers.run(start.native))
