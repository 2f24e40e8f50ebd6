"""What a `CoalescingSocket` raises when bytes were not delivered."""

from __future__ import annotations

import os
from typing import Self


class ConnectionFailedError(ConnectionError):
    """The connection failed; what became of the bytes that were handed over before."""

    def __init__(
        self, errno: int, acknowledged_bytes: int, unknown_bytes: int, unsent_bytes: int
    ) -> None:
        """`errno` is what the kernel said; ECONNABORTED: `close` gave up what was held."""
        super().__init__(
            errno,
            f"{os.strerror(errno)}: {acknowledged_bytes} bytes were acknowledged, of "
            f"{unknown_bytes} it is unknown whether they arrived, {unsent_bytes} were never sent",
        )
        self.acknowledged_bytes = acknowledged_bytes
        """The peer's kernel has them. Of a Unix socket it is never known."""
        self.unknown_bytes = unknown_bytes
        """Our kernel took them, or was about to."""
        self.unsent_bytes = unsent_bytes
        """They never left this process; the message that met the failure is among them."""

    def __reduce__(self) -> tuple[type[Self], tuple[int, int, int, int]]:
        """Let it be copied and pickled."""
        counts = (self.acknowledged_bytes, self.unknown_bytes, self.unsent_bytes)
        return type(self), (self.errno or 0, *counts)


class DeliveryTimeoutError(TimeoutError):
    """The time was over before all that was handed over had been delivered."""

    def __init__(self, unknown_bytes: int, unsent_bytes: int) -> None:
        super().__init__(
            f"timed out: {unknown_bytes} bytes are not acknowledged, {unsent_bytes} not sent"
        )
        self.unknown_bytes = unknown_bytes
        """Our kernel took them, and goes on trying."""
        self.unsent_bytes = unsent_bytes
        """They are, or at `close` were, held by this process."""

    def __reduce__(self) -> tuple[type[Self], tuple[int, int]]:
        """Let it be copied and pickled."""
        return type(self), (self.unknown_bytes, self.unsent_bytes)
